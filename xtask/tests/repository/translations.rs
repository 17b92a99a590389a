//! Tests that pages in Simplified Chinese have everything that their English pages have, and names those that have fallen behind.
//!
//! - `TRANSLATIONS=record` writes into each page that has it all which English text it was translated from, and copies
//!   fenced blocks.

mod translation;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use translation::{Translation, english};

/// The pages that readers of Chinese can count on.
const PAGES: [&str; 9] = [
    "README.zh-CN.md",
    "docs/zh-CN/why.md",
    "docs/zh-CN/start/quick-start.md",
    "docs/zh-CN/start/distributions.md",
    "docs/zh-CN/start/replace.md",
    "docs/zh-CN/concepts/eviction.md",
    "docs/zh-CN/concepts/countdowns.md",
    "docs/zh-CN/node-lifecycle.md",
    "docs/zh-CN/admission.md",
];

#[test]
fn translations_have_everything_that_the_english_pages_have() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Translation::all(root);
    let is_missing = |page: &&str| !all.iter().any(|translation| translation.page == Path::new(page));
    let missing: Vec<&str> = PAGES.into_iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
    if env::var_os("TRANSLATIONS").is_some_and(|requested| requested == "record") {
        all.iter_mut().for_each(Translation::take_blocks);
        for translation in all.iter().filter(|translation| translation.faults(&all).is_empty()) {
            fs::write(root.join(&translation.page), translation.recorded()).unwrap();
        }
        all = Translation::all(root);
    }
    let faults: String = all.iter().map(|translation| translation.faults(&all)).collect();
    let behind = all.iter().filter(|translation| !translation.is_up_to_date());
    let advice: String = behind.map(Translation::advice).collect();
    assert!(faults.is_empty() && advice.is_empty(), "\n{faults}{advice}");
}

const ENGLISH: &str = r"# Pods

English | [中文](zh-CN/pods.md)

A pod waits 60 s ([D1](differences.md#d1), [Go](https://go.dev)).

![A pod](a.svg)

    taintward pending    # now

| a | `b` |
|---|---|
| 1,000 | [x](x.md) |

```console
$ ls # all
```

## More
";

const CHINESE: &str = r"# Pod

[English](../pods.md) | 中文 · [目录](README.md)

Pod 等待 60 s（[D1](../differences.md#d1)、[Go](https://go.dev)）。

![Pod](../a.svg)

    taintward pending    # 现在

| 甲 | `b` |
|---|---|
| 1,000 | [某](../x.md) |

```console
$ ls # all
```

## 更多
";

fn translation(name: &str, text: &str) -> Translation {
    let page = PathBuf::from(format!("docs/zh-CN/{name}"));
    let source = english(&page);
    Translation { page, text: text.to_owned(), source, source_text: ENGLISH.to_owned() }
}

fn faults(text: &str) -> String {
    translation("pods.md", text).faults(&[])
}

#[test]
fn prose_comments_and_links_to_the_other_language_are_free() {
    assert_eq!(faults(CHINESE), "");
    assert_eq!(faults(&CHINESE.replace("等待", "最多等待")), "");
}

#[test]
fn everything_else_is_held() {
    let changes = [
        ("60 s", "90 s"),
        ("#d1", "#d2"),
        ("https://go.dev", "https://go.dev/dl"),
        ("../a.svg", "../b.svg"),
        ("taintward pending", "taintward plan"),
        ("    # 现在", ""),
        ("`b`", "`c`"),
        ("1,000", "1,001"),
        ("../x.md", "../y.md"),
        ("| 1,000 ", ""),
        ("# all", "# 全部"),
        ("## 更多", "### 更多"),
        ("\n## 更多\n", ""),
    ];
    for (right, wrong) in changes {
        assert!(CHINESE.contains(right), "{right}");
        let faults = faults(&CHINESE.replace(right, wrong));
        assert!(faults.contains("where docs/zh-CN/pods.md has"), "{right} became {wrong}: {faults}");
    }
}

#[test]
fn a_link_leads_to_a_translation_where_there_is_one() {
    let other = [translation("x.md", "")];
    let faults = translation("pods.md", CHINESE).faults(&other);
    assert_eq!(faults, "docs/zh-CN/pods.md links docs/x.md: link docs/zh-CN/x.md\n");
    assert_eq!(translation("pods.md", &CHINESE.replace("../x.md", "x.md")).faults(&other), "");
}

#[test]
fn a_page_is_behind_until_the_english_text_is_recorded() {
    let mut page = translation("pods.md", CHINESE);
    assert!(!page.is_up_to_date());
    for english in [ENGLISH.to_owned(), ENGLISH.replace("waits", "stays")] {
        page.source_text = english;
        assert!(!page.is_up_to_date());
        page.text = page.recorded();
        assert!(page.is_up_to_date());
        assert_eq!(page.faults(&[]), "");
    }
    let (mark, rest) = page.text.split_once('\n').unwrap();
    assert!(mark.starts_with("<!-- translation of docs/pods.md, "), "{mark}");
    assert_eq!(rest, CHINESE);
    assert!(page.advice().contains("docs/zh-CN/pods.md has fallen behind docs/pods.md"));
}

#[test]
fn fenced_blocks_are_copied_where_there_are_as_many() {
    let mut page = translation("pods.md", CHINESE);
    page.source_text = ENGLISH.replace("# all", "# none");
    assert_ne!(page.faults(&[]), "");
    page.take_blocks();
    assert_eq!(page.faults(&[]), "");
    assert_eq!(page.text, CHINESE.replace("# all", "# none"));
    page.source_text = format!("{ENGLISH}\n```sh\nls\n```\n");
    page.take_blocks();
    assert_eq!(page.text, CHINESE.replace("# all", "# none"));
}
