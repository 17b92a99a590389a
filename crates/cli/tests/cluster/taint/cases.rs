//! Lists the arguments to compare and the taints that nodes have before.

use serde_json::{Value, json};

/// A command line for both. `{1}` and `{2}` stand for nodes, `{side}` for a label value that only one side's nodes
/// have.
#[derive(Clone, Debug)]
pub(crate) struct TaintCase {
    pub(crate) arguments: Vec<String>,
    /// Taints of the first node, and of the second.
    pub(crate) before: [Vec<Value>; 2],
}

impl TaintCase {
    /// A command line, on nodes with two taints each.
    pub(crate) fn typed(line: &str) -> Self {
        let arguments = line.split(' ').map(str::to_owned).collect();
        Self { arguments, before: [usual(), vec![pool(4)]] }
    }
}

fn usual() -> Vec<Value> {
    vec![pool(0), pool(3)]
}

/// Taints that nodes may have before.
fn pool(number: usize) -> Value {
    [
        json!({ "key": "a", "value": "1", "effect": "NoSchedule" }),
        json!({ "key": "a", "effect": "NoExecute" }),
        json!({ "key": "a", "value": "x", "effect": "PreferNoSchedule" }),
        json!({ "key": "b", "value": "v", "effect": "NoExecute", "timeAdded": "2026-11-21T10:00:00Z" }),
        json!({ "key": "b", "effect": "NoSchedule", "timeAdded": "2026-11-21T10:00:00Z" }),
        json!({ "key": "example.com/c", "value": "d.e_f", "effect": "NoSchedule" }),
    ][number]
        .clone()
}

/// Handwritten cases: each rule, and each way to break it.
const THOUGHT_OF: &[&str] = &[
    // KT-2
    "",
    "node",
    "node {1}",
    "a:NoExecute",
    "node {1} new:NoExecute late",
    "node {1} new:NoExecute {2} b-",
    "node - new:NoExecute",
    // KT-3
    "node {1} key",
    "node {1} key=value",
    "node {1} key=value-",
    "node {1} key:",
    "node {1} key:-",
    "node {1} :NoExecute",
    "node {1} =:NoExecute",
    "node {1} -",
    "node {1} =",
    "node {1} :",
    "node {1} ::",
    "node {1} key:NoExecute:",
    "node {1} key=a:b:NoExecute",
    "node {1} key=a=b:NoExecute",
    "node {1} key=a=b:noexecute",
    "node {1} key:NOEXECUTE",
    "node {1} key:NoSchedule,NoExecute",
    "node {1} Key_1.x=V-2:NoSchedule",
    "node {1} key.:NoSchedule",
    "node {1} key=-v:NoSchedule",
    "node {1} key=v/w:NoSchedule",
    "node {1} Example.com/key:NoSchedule",
    "node {1} example..com/key:NoSchedule",
    "node {1} /key:NoSchedule",
    "node {1} example.com/:NoSchedule",
    "node {1} a/b/c:NoSchedule",
    "node {1} schlüssel:NoSchedule",
    "node {1} x23456789x123456789x123456789x123456789x123456789x123456789x1234:NoSchedule",
    "node {1} new=x23456789x123456789x123456789x123456789x123456789x123456789x1234:NoSchedule",
    "node {1} new:NoSchedule new=x:NoSchedule",
    "node {1} new=y:NoSchedule new=x:NoExecute new=z:NoSchedule",
    "node {1} new=:NoSchedule",
    "node {1} a--",
    "node {1} a-b-",
    // KT-4
    "nodes {1} new:NoExecute",
    "no {1} new:NoExecute",
    "NODE {1} new:NoExecute",
    "pods {1} new:NoExecute",
    "Deployment {1} new:NoExecute",
    "pods {1} new:NoExecute new-",
    "pods {1} new:no",
    // KT-5
    "node {1} new:NoExecute new-",
    "node {1} new:NoExecute new:NoExecute-",
    "node {1} new:NoExecute new:NoSchedule-",
    "node {1} new:NoExecute new=x:NoSchedule new- new:NoExecute-",
    "node {1} a- a=2:NoSchedule b:NoExecute b-",
    // KT-6
    "node --all -l x=y new:NoExecute",
    "node new:NoExecute",
    "node new:NoExecute new-",
    "node -l side={side} --dry-run=client new:NoExecute",
    "node -l side={side} new:NoExecute",
    "node {1} -l side={side},place=second new:NoExecute",
    "node --selector=side=nowhere new:NoExecute",
    "node --all --dry-run=client new:NoExecute",
    "node --all=true --dry-run=server b-",
    "node --all --dry-run=server --overwrite a=2:NoSchedule",
    "node --all=false new:NoExecute",
    // KT-7
    "node {1} a=1:NoSchedule",
    "node {1} a=2:NoSchedule",
    "node {1} a=2:NoSchedule b:NoExecute new:NoExecute",
    "node {1} a=2:NoSchedule new-",
    "node {1} new-",
    "node {1} new:NoExecute-",
    "node {1} a:NoExecute-",
    "node {1} new- newer:NoExecute- a-",
    "node {1} new- new-",
    "node {1} a- new-",
    "node {1} a- a-",
    "node {1} --overwrite new- newest:NoExecute",
    // KT-8
    "node {1} new:NoExecute",
    "node {1} new=v:PreferNoSchedule newer:NoSchedule",
    "node {1} a-",
    "node {1} a:NoSchedule-",
    "node {1} a=ignored:NoSchedule-",
    "node {1} a- b-",
    "node {1} a- new:NoExecute",
    "node {1} new:NoExecute b:NoExecute-",
    "node {1} --overwrite a=1:NoSchedule",
    "node {1} --overwrite a=2:NoSchedule",
    "node {1} --overwrite b=2:NoExecute",
    "node {1} --overwrite b=v:NoExecute",
    "node {1} --overwrite=true a=2:NoSchedule new:NoExecute b-",
    "node {1} --overwrite=false a=2:NoSchedule",
    "node {1} --overwrite a-",
    "node {2} b-",
    "node {2} b:NoSchedule- new:NoExecute",
    // KT-9, KT-10
    "node {1} {2} new:NoExecute",
    "node {1} {2} a-",
    "node {2} {1} a-",
    "node {1} {2} new- newer-",
    "node {1} {1} new:NoExecute",
    "node {1} missing {2} new:NoExecute",
    "node missing new:NoExecute",
    "node missing gone new:NoExecute",
    "node missing {1} new-",
    "node node/{1} new:NoExecute",
    "node no/{1} nodes/{2} new:NoExecute",
    "node node/{1}/x new:NoExecute",
    "node /{1} new:NoExecute",
    // Flags
    "node {1} --dry-run new:NoExecute",
    "node {1} --dry-run=true a-",
    "node {1} --dry-run=false a-",
    "node {1} --dry-run=none a-",
    "node {1} --dry-run=server new:NoExecute",
    "node {1} --dry-run=client a-",
    "node {1} --dry-run=client new-",
    "node {1} --validate=ignore new:NoExecute",
    "node {1} --validate=warn new:NoExecute",
    "node {1} --validate new:NoExecute",
    "node {1} --field-manager=another new:NoExecute",
    "node {1} -o name new:NoExecute",
    "node {1} -oname --dry-run=server a-",
    "node {1} {2} -o name --dry-run=client new:NoExecute",
    "node {1} -o json new:NoExecute",
    "node {1} --output=json a- b-",
    "node {1} -o json --dry-run=client new=v:NoExecute",
    "node {1} -o json --dry-run=client a- b-",
    "node {1} -o json --dry-run=server --overwrite b=w:NoExecute",
    "node {1} {2} -o json new:NoExecute",
    "node {1} -o yaml new:NoExecute",
    "node {1} {2} -o yaml --dry-run=client new:NoExecute",
    "node {1} -o yaml --dry-run=server a-",
    "new:NoExecute node {1}",
    "node {1} -- new:NoExecute",
    "node --overwrite {1} a=9:NoSchedule -o name",
];

/// Reproducible random numbers.
struct CaseNumbers(u64);

impl CaseNumbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// The number of generated cases.
const MADE_UP: usize = 120;

/// All cases.
pub(crate) fn all() -> Vec<TaintCase> {
    let thought_of = THOUGHT_OF.iter().map(|line| {
        let case = TaintCase::typed(line);
        if line.is_empty() { TaintCase { arguments: Vec::new(), ..case } } else { case }
    });
    let mut numbers = CaseNumbers(0x7a17_3a8d);
    thought_of.chain((0..MADE_UP).map(|_| made_up(&mut numbers))).collect()
}

fn made_up(numbers: &mut CaseNumbers) -> TaintCase {
    let mut arguments = vec![numbers.of(&["node", "nodes", "no"]).to_owned()];
    let targets: &[&str] = match numbers.below(10) {
        0 => &["{1}", "{2}"],
        1 => &["{2}", "missing", "{1}"],
        2 => &["-l", "side={side}"],
        3 => &["{2}"],
        _ => &["{1}"],
    };
    arguments.extend(targets.iter().map(|&target| target.to_owned()));
    for _ in 0..=numbers.below(3) {
        arguments.push(change(numbers));
    }
    let flags = [
        "--overwrite",
        "--overwrite",
        "--dry-run=client",
        "--dry-run=server",
        "-o=name",
        "--overwrite=false",
    ];
    for _ in 0..numbers.below(3) {
        arguments.push(numbers.of(&flags).to_owned());
    }
    TaintCase { arguments, before: [before(numbers), before(numbers)] }
}

fn change(numbers: &mut CaseNumbers) -> String {
    let key = numbers.of(&["a", "a", "b", "b", "example.com/c", "new", "x.y/z", "a.b"]);
    let effect = numbers.of(&[":NoSchedule", ":NoExecute", ":PreferNoSchedule"]);
    let value = numbers.of(&["", "", "=v", "=", "=1"]);
    match numbers.below(12) {
        0..5 => format!("{key}{value}{effect}"),
        5..8 => format!("{key}-"),
        8..10 => format!("{key}{effect}-"),
        10 => format!("{key}{value}{effect}-"),
        _ => {
            let odd = numbers.of(&[
                "=v",
                ":Noexecute",
                "",
                "=v=w:NoExecute",
                ":NoExecute:NoExecute",
                "_:NoExecute",
            ]);
            format!("{key}{odd}{}", numbers.of(&["-", ""])).replace("new", "new=")
        }
    }
}

fn before(numbers: &mut CaseNumbers) -> Vec<Value> {
    (0..6).filter(|_| numbers.below(5) < 2).map(pool).collect()
}
