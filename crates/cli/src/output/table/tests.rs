//! Tests column widths, shortening, and that cells cannot control a terminal.

use super::*;

fn view(width: usize, is_terminal: bool, wide: bool) -> PrintOptions {
    PrintOptions { paper: Terminal { width, paints: false, is_terminal }, wide, headers: true, order: None }
}

fn table() -> Table {
    let columns = vec![
        TableColumn::new("POD").shortens(),
        TableColumn::new("PODS").right(),
        TableColumn::new("UID").only_wide(),
        TableColumn::new("NODE"),
    ];
    let mut table = Table::new(columns);
    table.push(vec!["web-5d8f6c7b9-abcde-first".into(), "3".into(), "u1".into(), "n1".into()]);
    table.push(vec!["db-0".into(), "12".into(), "u2".into(), "節点".into()]);
    table
}

#[test]
fn columns_are_aligned_without_spaces_after_the_last() {
    let expected = "\
POD                         PODS   NODE
web-5d8f6c7b9-abcde-first      3   n1
db-0                          12   節点
";
    assert_eq!(table().print(&view(80, true, false)), expected);
    // A missing title takes no space.
    let without = PrintOptions { headers: false, ..view(80, true, false) };
    assert!(table().print(&without).starts_with("web-5d8f6c7b9-abcde-first    3   n1\n"));
    assert!(
        table().print(&view(80, true, true)).starts_with("POD                         PODS   UID   NODE\n")
    );
}

#[test]
fn only_a_terminal_shortens_and_only_the_middle_of_names() {
    let narrow = "\
POD                  PODS   NODE
web-5d8f6…de-first      3   n1
db-0                   12   節点
";
    assert_eq!(table().print(&view(32, true, false)), narrow);
    for whole in [view(32, false, false), view(32, true, true)] {
        assert!(table().print(&whole).contains("web-5d8f6c7b9-abcde-first "));
    }
    // Less than a dozen letters say nothing, so the line becomes longer.
    let least = table().print(&view(10, true, false));
    assert!(least.contains("\nweb-5d…first      3   n1\n"), "{least}");
}

#[test]
fn letters_count_by_their_width() {
    assert_eq!(shortened("節点節点節点節点".to_owned(), 9), "節点…節点");
    assert_eq!(shortened("abcdefgh".to_owned(), 8), "abcdefgh");
    assert_eq!(shortened("abcdefgh".to_owned(), 7), "abc…fgh");
}

#[test]
fn colors_take_no_room_and_cells_steer_nothing() {
    let mut table = Table::new(vec![TableColumn::new("A"), TableColumn::new("B")]);
    table.push(vec![TableCell::new("x\x1b[2J").colored(Color::Red), TableCell::new("y\nz")]);
    let painted = PrintOptions {
        paper: Terminal { width: 80, paints: true, is_terminal: true },
        ..view(80, true, false)
    };
    assert_eq!(table.print(&painted), "A       B\n\x1b[31mx\u{fffd}[2J\x1b[0m   y\u{fffd}z\n");
}
