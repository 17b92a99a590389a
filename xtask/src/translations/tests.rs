//! Tests what a translation may have otherwise than its English page, and what not.

use super::*;

const ENGLISH: &str = "# Pods\n\nEnglish | [中文](zh-CN/pods.md)\n\nA pod waits 60 s ([D1](differences.md#d1), \
                       [Go](https://go.dev)).\n\n![A pod](a.svg)\n\n    taintward pending    # now\n\n| a | `b` |\n|---|---|\n\
                       | 1,000 | [x](x.md) |\n\n```console\n$ ls # all\n```\n\n## More\n";

const CHINESE: &str = "# Pod\n\n[English](../pods.md) | 中文 · [目录](README.md)\n\nPod 等待 60 s（[D1](../differences.md#d1)、\
                       [Go](https://go.dev)）。\n\n![Pod](../a.svg)\n\n    taintward pending    # 现在\n\n| 甲 | `b` |\n|---|---|\n\
                       | 1,000 | [某](../x.md) |\n\n```console\n$ ls # all\n```\n\n## 更多\n";

fn translation(name: &str, text: &str) -> Translation {
    let page = Path::new(FOLDER).join(name);
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
        assert_ne!(faults(&CHINESE.replace(right, wrong)), "", "{right} became {wrong}");
    }
    assert!(faults(&CHINESE.replace("1,000", "1,001")).contains("docs/zh-CN/pods.md"));
}

#[test]
fn a_link_leads_to_a_translation_where_there_is_one() {
    let other = [translation("x.md", "")];
    let linked = translation("pods.md", CHINESE).faults(&other);
    assert_eq!(linked, "docs/zh-CN/pods.md links docs/x.md: link docs/zh-CN/x.md\n");
    assert_eq!(translation("pods.md", &CHINESE.replace("../x.md", "x.md")).faults(&other), "");
}

#[test]
fn a_page_is_behind_until_the_english_text_is_recorded() {
    let root = std::env::temp_dir().join(format!("taintward-translations-{}", std::process::id()));
    fs::create_dir_all(root.join(FOLDER)).unwrap();
    fs::write(root.join("docs/pods.md"), ENGLISH).unwrap();
    fs::write(root.join("README.md"), "").unwrap();
    fs::write(root.join(README), "").unwrap();
    let page = root.join(FOLDER).join("pods.md");
    fs::write(&page, CHINESE).unwrap();
    let states =
        || -> Vec<bool> { Translation::all(&root).unwrap().iter().map(Translation::is_up_to_date).collect() };
    assert_eq!(states(), [false, false]);
    run(&root).unwrap();
    assert_eq!(states(), [true, true]);
    fs::write(root.join("docs/pods.md"), ENGLISH.replace("waits", "stays")).unwrap();
    assert_eq!(states(), [false, true]);
    run(&root).unwrap();
    assert_eq!(states(), [true, true]);
    let recorded = fs::read_to_string(&page).unwrap();
    assert_eq!(without_mark(&recorded), CHINESE);
    fs::write(root.join("docs/pods.md"), ENGLISH.replace("60", "90")).unwrap();
    let refused = run(&root).unwrap_err().to_string();
    assert!(refused.contains("docs/zh-CN/pods.md"), "{refused}");
    assert_eq!(fs::read_to_string(&page).unwrap(), recorded);
    fs::remove_dir_all(root).unwrap();
}
