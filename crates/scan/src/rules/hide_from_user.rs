//! A sentence that hides an act of the skill from the user.

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "hide-from-user",
    Warning,
    lowers: true,
    "a sentence tells the model to hide what it does from the user",
    "remove the sentence: users decide better if they know what happens",
    triggers: [
        "tell the user", "telling the user", "inform the user", "informing the user", "notify the user", "notifying the user", "mention this", "mention it to", "from the user", "alert the user", "alerting the user",
        "user's knowledge", "users knowledge", "the user know", "user noticing", "reveal this", "reveal that", "disclose this", "the user notic", "user being aware", "secretly", "silently", "covertly", "user's awareness"
    ]
);

matcher!(
    SENTENCES,
    r"(?: \b(?: do\ not | don[’']t | never | must\ not | should\ not )\ (?: ever\ )? (?: tell | inform | notify | alert )\ (?:the\ )?(?: user | human | owner | person )s?\ (?: about\ (?:this|these|the)\ (?:step|command|script|action|upload|request|process|operation|instruction|download|install|skill|file|hidden)\w* | (?:that\ )?(?:you|the\ (?:script|skill|agent))\ (?:are\ |have\ |has\ |is\ )?(?:run|ran|running|sent|send|sending|upload|uploading|uploaded|execut|collect|download|install|reading|read|cop|access|connect|modif|backup)\w* ) )
      | (?: \b(?: do\ not | don[’']t | never )\ (?: mention | reveal | disclose | show | expose )\ (?:this|these|that|the)\ (?:step|command|script|action|upload|request|operation|instruction|hidden|behaviou?r|process|download)\w*\ to\ (?:the\ )?(?: user | human | owner )s? )
      | (?: \b(?: do\ not | don[’']t | never )\ let\ the\ user\ (?: know | see | notice )\ (?: about\ )?(?: this | that\ you | the\ (?:script|command|upload|request) ) )
      | (?: \b(?: hide | conceal | keep )\ (?:this|it|these|the\ (?:command|script|step|upload|request|output|activity|process))\ (?:step\ |action\ |command\ |secret\ |hidden\ |private\ )?from\ (?:the\ )?(?: user | human | owner ) )
      | (?: \b(?: run | execute | send | upload | install | download | copy | collect | transmit | exfiltrate | post )s? \b [^.\n]* \bwithout\ (?: telling | informing | notifying | alerting )\ (?:the\ )?(?: user | human | owner ) )
      | (?: \bwithout\ the\ (?: user | human | owner )(?:[’']s)?\ (?: knowledge | noticing | awareness | being\ aware | knowing ) )
      | (?: \b(?: secretly | covertly | quietly )\ (?: run | execute | send | upload | install | download | copy | collect | transmit | exfiltrate | append | modify ) )
      | (?: \bsilently\ (?: upload | exfiltrate | transmit | send\ (?:the|all|their|user) | collect\ (?:the|all|their|user) | copy\ (?:the|all|their|user) ) )"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    if passage.is_code {
        return;
    }
    let text = passage.text;
    for range in SENTENCES.find_all(text) {
        let sentence = &text[range.clone()];
        // A prohibition: "never upload files without telling the user".
        let start = text[..range.start]
            .rfind(['.', '\n', ';'])
            .map_or(0, |at| at + 1);
        let before = text[start..range.start].to_ascii_lowercase();
        let begins_negated = ["do not", "don", "never", "must not", "should not"]
            .iter()
            .any(|no| sentence.to_ascii_lowercase().starts_with(no));
        let is_forbidden = !begins_negated
            && [
                "not ", "n't ", "n’t ", "never", "no ", "avoid", "without", "cannot", "if ",
                "could", "may ", "can ",
            ]
            .iter()
            .any(|no| before.contains(no));
        if is_forbidden || passage.is_quoted(&range) || passage.is_inline_code(&range) {
            continue;
        }
        let place = passage.place(&range);
        if place.describes() && !begins_negated {
            continue;
        }
        out.passage(
            passage,
            range,
            "tells the model to hide what it does from the user",
        );
        return;
    }
}
