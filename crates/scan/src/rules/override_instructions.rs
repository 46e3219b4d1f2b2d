//! A sentence that sets aside the instructions a model has.

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "override-instructions",
    Warning,
    lowers: true,
    "a sentence tells the model to set aside its other instructions",
    "remove the sentence, or put it between quotation marks if it shows an attack",
    triggers: [
        "previous instr", "prior instr", "above instr", "earlier instr", "system prompt", "all instructions", "your instructions", "previous rules", "safety guidelines", "safety rules", "previous messages",
        "preceding instr", "other instructions", "existing instructions", "prior rules", "previous prompt", "prior prompt", "previous guid", "system instructions", "developer mode", "anweisungen", "instrucciones",
        "instructions préc", "consignes préc", "инструкци", "之前的指", "忽略之前", "忽略以上", "忽略所有", "无视之前", "無視", "以上指令", "先前的指", "istruzioni prec", "instruções ant", "以前の指示", "이전 지시", "you are now dan", "content policy", "safety policies"
    ]
);

matcher!(
    SENTENCES,
    r"(?: \b(?: ignore | disregard | forget | override | bypass | discard | drop ) \s+ (?: (?:all|any|every|each|the|your|my|of|these|those|other|and)\s+ ){0,4}
        (?: previous | prior | above | earlier | preceding | existing | other | system | developer | original | initial | safety | content | security | default )
        (?: \s+(?:system|safety|user|developer|security|and|conflicting) ){0,2} \s+ (?: instructions? | prompts? | rules? | guidelines? | directives? | messages? | constraints? | polic(?:y|ies) | restrictions? | context ) \b )
      | (?: \b(?: ignore | disregard | forget )\s+ (?:all\s+)? your \s+ (?:system\s+|safety\s+)? (?: instructions | prompt | rules | guidelines | training ) \b )
      | (?: \byou\ are\ now\ (?: DAN | in\ developer\ mode | unrestricted | jailbroken ) )
      | (?: \bignorier\w*\s+(?:alle\s+|die\s+)*(?:vorherigen|bisherigen|obigen)\s+anweisungen )
      | (?: \bignor\w*\s+(?:todas\s+|as\s+|las\s+|tutte\s+|le\s+|toutes\s+|les\s+)*(?:instru\w+|istruzioni|consignes)\s+(?:anteriores|previas|precedenti|précédentes) )
      | (?: игнорир\w+\s+(?:все\s+)?(?:предыдущ\w+|прежн\w+)\s+инструкци )
      | (?: (?:忽略|无视|無視)(?:所有|全部)?(?:之前|以上|先前|上述)(?:的)?(?:所有)?(?:指令|指示|规则|提示) ) | (?: (?:以前|これまで)の(?:すべての)?指示を(?:無視|忘れ) ) | (?: 이전\s*지시\S{0,6}\s*무시 )"
);
// What a tool or a person may override.
matcher!(
    HARMLESS,
    r"\b(?: overrides?\ (?:the\ )?(?:default|existing|system)\ (?:system\ )?(?:rules?|polic\w+|context|constraints?|messages?|prompts?) | ignore\ (?:the\ )?(?:previous|earlier|prior)\ (?:context|messages?) | drop\ (?:the\ )?\w+\ constraints? | context )\b"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    if passage.is_code && passage.file.role() == crate::subject::FileRole::Script {
        return;
    }
    for range in SENTENCES.find_all(passage.text) {
        let sentence = &passage.text[range.clone()];
        if HARMLESS.is_match(sentence) {
            continue;
        }
        // Code and quotations show the sentence to a reader.
        if passage.place(&range).describes()
            || passage.is_code
            || passage.is_inline_code(&range)
            || passage.is_quoted(&range)
            || passage.is_described(&range)
        {
            continue;
        }
        out.passage(
            passage,
            range,
            "tells the model to set aside its other instructions",
        );
        return;
    }
}
