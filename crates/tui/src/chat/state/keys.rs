//! The keys of the chat and what they do.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use prowess::policy::ApprovalAnswer;
use prowess::traits::TextReply;

use super::super::command::{self, Input};
use super::super::complete::Popup;
use super::{ChatState, Effect, MAX_QUEUE, refusal};
use crate::text_prompt;

/// The time within which a second Ctrl+C quits.
const AGAIN: Duration = Duration::from_secs(2);

impl ChatState {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return self.interrupt();
        }
        self.leaving = None;
        match key.code {
            KeyCode::PageUp => self.scroll(-self.page()),
            KeyCode::PageDown => self.scroll(self.page()),
            _ if self.asks_for_text() => return self.answer_text(key),
            _ if !self.questions.is_empty() => return self.answer(key),
            KeyCode::Char('d') if control => {
                if self.editor.is_empty() {
                    return vec![Effect::Leave];
                }
                self.editor.delete();
                self.typed();
            }
            _ => {
                self.last_key = self.now;
                return self.edit(key);
            }
        }
        Vec::new()
    }

    fn page(&self) -> isize {
        self.drawn.height.saturating_sub(2).max(1).cast_signed()
    }

    fn interrupt(&mut self) -> Vec<Effect> {
        if let Some(running) = self.running.as_mut().filter(|running| !running.cancelled) {
            running.cancelled = true;
            "stopping".clone_into(&mut running.doing);
            // Return queued messages to the input.
            let waiting: Vec<String> = self.queue.drain(..).collect();
            if !waiting.is_empty() {
                let typed = self.editor.take();
                let all = waiting
                    .into_iter()
                    .chain([typed])
                    .filter(|text| !text.is_empty());
                self.editor.set(&all.collect::<Vec<_>>().join("\n"));
            }
            let mut effects: Vec<Effect> = self
                .questions
                .drain(..)
                .map(|(asked, _)| refusal(&asked))
                .collect();
            self.answer.take();
            effects.push(Effect::Cancel);
            return effects;
        }
        if let Some((asked, _)) = self.questions.pop_front() {
            self.next_question();
            return vec![refusal(&asked)];
        }
        if self
            .leaving
            .is_some_and(|since| self.now.saturating_sub(since) <= AGAIN)
        {
            return vec![Effect::Leave];
        }
        if !self.editor.is_empty() {
            let text = self.editor.take();
            self.history.push(&text);
            self.popup = None;
        }
        self.leaving = Some(self.now);
        self.say("press Ctrl+C again to quit");
        Vec::new()
    }

    fn answer(&mut self, key: KeyEvent) -> Vec<Effect> {
        let armed = self.question().is_some_and(|(_, armed)| armed);
        let (plain, code) = (
            key.modifiers.difference(KeyModifiers::SHIFT).is_empty(),
            key.code,
        );
        let answer = match code {
            KeyCode::Char('y' | 'Y') if plain => ApprovalAnswer::Once,
            KeyCode::Char('s' | 'S') if plain => ApprovalAnswer::Session,
            KeyCode::Char('n' | 'N') if plain => ApprovalAnswer::No,
            KeyCode::Esc => ApprovalAnswer::No,
            KeyCode::Up => {
                self.scroll(-1);
                return Vec::new();
            }
            KeyCode::Down => {
                self.scroll(1);
                return Vec::new();
            }
            _ => {
                self.say("answer the question first: y, s or n");
                return Vec::new();
            }
        };
        if !armed {
            self.last_key = self.now;
            self.say("read the question before you answer it");
            return Vec::new();
        }
        self.settle(answer)
    }

    fn settle(&mut self, answer: ApprovalAnswer) -> Vec<Effect> {
        let Some((asked, _)) = self.questions.pop_front() else {
            return Vec::new();
        };
        self.next_question();
        vec![Effect::Answer(asked.id, answer)]
    }

    /// Handles a key while a text or a choice is asked for. The message that the user was typing is
    /// kept.
    fn answer_text(&mut self, key: KeyEvent) -> Vec<Effect> {
        let armed = self.question().is_some_and(|(_, armed)| armed);
        self.last_key = self.now;
        if !armed && self.answer.is_empty() {
            self.say("read the question before you answer it");
            return Vec::new();
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let moved = KeyModifiers::ALT | KeyModifiers::SHIFT;
        match key.code {
            KeyCode::Esc => {
                let refused = self.questions.pop_front().map(|(asked, _)| refusal(&asked));
                self.next_question();
                return refused.into_iter().collect();
            }
            KeyCode::Enter if !key.modifiers.intersects(moved) => return self.give_text(),
            KeyCode::Up => self.scroll(-1),
            KeyCode::Down => self.scroll(1),
            KeyCode::Tab | KeyCode::BackTab => {}
            // The history has messages, not answers.
            KeyCode::Char('p' | 'n' | 'd') if control => {}
            _ => {
                std::mem::swap(&mut self.editor, &mut self.answer);
                self.edit(key);
                self.popup = None;
                std::mem::swap(&mut self.editor, &mut self.answer);
            }
        }
        Vec::new()
    }

    /// Gives the typed answer, if it fits the question.
    fn give_text(&mut self) -> Vec<Effect> {
        let Some((asked, _)) = self.questions.front() else {
            return Vec::new();
        };
        let Some(text) = &asked.text else {
            return Vec::new();
        };
        match text.details.read(&[self.answer.text()]) {
            Ok(texts) => {
                let id = asked.id;
                self.questions.pop_front();
                self.next_question();
                vec![Effect::AnswerText(id, TextReply::Given(texts))]
            }
            Err(fault) => {
                self.say(text_prompt::explain(&fault));
                Vec::new()
            }
        }
    }

    fn edit(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let jump = control || alt;
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Enter if alt || shift => {
                self.editor.insert("\n");
            }
            KeyCode::Char('j') if control => {
                self.editor.insert("\n");
            }
            KeyCode::Enter => return self.enter(),
            KeyCode::Tab => {
                self.tab();
                return Vec::new();
            }
            KeyCode::Up | KeyCode::Down | KeyCode::BackTab => {
                self.vertical(key.code);
                return Vec::new();
            }
            KeyCode::Char('p') if control => {
                self.vertical(KeyCode::Up);
                return Vec::new();
            }
            KeyCode::Char('n') if control => {
                self.vertical(KeyCode::Down);
                return Vec::new();
            }
            KeyCode::Esc => {
                self.popup = None;
                return Vec::new();
            }
            KeyCode::Left if jump => self.editor.word_left(),
            KeyCode::Right if jump => self.editor.word_right(),
            KeyCode::Left => self.editor.left(),
            KeyCode::Right => self.editor.right(),
            KeyCode::End if control => {
                self.top = None;
                self.look_at = None;
                self.drawn.top = self.drawn.total.saturating_sub(self.drawn.height);
            }
            KeyCode::Home => self.editor.home(),
            KeyCode::End => self.editor.end(),
            KeyCode::Backspace if jump => self.editor.cut_word(),
            KeyCode::Backspace => self.editor.backspace(),
            KeyCode::Delete => self.editor.delete(),
            KeyCode::Char(c) if control => match c {
                'a' => self.editor.home(),
                'e' => self.editor.end(),
                'b' => self.editor.left(),
                'f' => self.editor.right(),
                'h' => self.editor.backspace(),
                'k' => self.editor.cut_to_end(),
                'u' => self.editor.cut_to_start(),
                'w' => self.editor.cut_word(),
                'y' => self.editor.paste_cut(),
                _ => return Vec::new(),
            },
            KeyCode::Char(c) if alt => match c {
                'b' => self.editor.word_left(),
                'f' => self.editor.word_right(),
                'd' => self.editor.cut_word_right(),
                _ => return Vec::new(),
            },
            KeyCode::Char(c) => {
                self.editor.insert(c.encode_utf8(&mut [0; 4]));
            }
            _ => return Vec::new(),
        }
        self.typed();
        Vec::new()
    }

    fn tab(&mut self) {
        if let Some(popup) = self.popup.take() {
            popup.accept(&mut self.editor);
        } else {
            self.popup = Popup::find(&self.editor, &self.names);
        }
    }

    fn vertical(&mut self, code: KeyCode) {
        let up = code != KeyCode::Down;
        if let Some(popup) = &mut self.popup {
            popup.step(if up { -1 } else { 1 });
            return;
        }
        let moved = if up {
            self.editor.up()
        } else {
            self.editor.down()
        };
        if moved || code == KeyCode::BackTab {
            return;
        }
        let typed = self.editor.text().to_owned();
        let found = if up {
            self.history.older(&typed)
        } else {
            self.history.newer()
        };
        if let Some(text) = found {
            let text = text.to_owned();
            self.editor.set(&text);
        }
    }

    fn enter(&mut self) -> Vec<Effect> {
        if let Some(popup) = self.popup.take()
            && popup.moved
        {
            popup.accept(&mut self.editor);
            return Vec::new();
        }
        if self.editor.text().trim().is_empty() {
            self.editor.take();
            return Vec::new();
        }
        let is_new = self.history.push(self.editor.text());
        let text = self.editor.take();
        let mut effects = Vec::new();
        if is_new {
            effects.push(Effect::Remember(text.clone()));
        }
        self.top = None;
        self.look_at = None;
        match (command::read(&text), &self.running) {
            (Input::Help, _) => self.show(command::help()),
            (Input::Quit, _) => effects.push(Effect::Leave),
            (Input::Misused(name), _) => {
                self.editor.set(&text);
                self.say(command::misused(name));
            }
            (Input::Order(_), Some(_)) if self.queue.len() >= MAX_QUEUE => {
                self.editor.set(&text);
                self.say("too many messages are waiting");
            }
            (Input::Order(_), Some(_)) => self.queue.push_back(text),
            (Input::Order(_), None) => effects.extend(self.begin(&text)),
        }
        effects
    }
}
