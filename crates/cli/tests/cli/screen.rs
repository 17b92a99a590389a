//! Shows what a terminal of a given size displays after the output of a program.

#![allow(dead_code, reason = "each test binary uses some of it")]

/// The rows, the first on top. A row that wrapped continues in the next one.
pub(crate) fn displayed(output: &str, columns: usize, rows: usize) -> Vec<String> {
    let (mut screen, mut row, mut column) = (vec![vec![' '; columns]; rows], 0, 0);
    let mut letters = output.chars();
    let down = |screen: &mut Vec<Vec<char>>, row: &mut usize| {
        *row += 1;
        if *row == rows {
            screen.remove(0);
            screen.push(vec![' '; columns]);
            *row -= 1;
        }
    };
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => column = 0,
            '\n' => down(&mut screen, &mut row),
            '\x1b' => {
                assert_eq!(letters.next(), Some('['), "a control sequence that this terminal does not know");
                let mut sequence: String =
                    letters.by_ref().take_while(|letter| !letter.is_ascii_alphabetic()).collect();
                // `take_while` consumed the letter at the end.
                let end = output[..output.len() - letters.as_str().len()].chars().next_back().unwrap();
                if sequence.is_empty() {
                    sequence.push('1');
                }
                match end {
                    'A' => row = row.saturating_sub(sequence.parse().unwrap()),
                    'H' => (row, column) = (0, 0),
                    'K' => screen[row][column.min(columns)..].fill(' '),
                    'J' => {
                        screen[row][column.min(columns)..].fill(' ');
                        screen[row + 1..].iter_mut().for_each(|line| line.fill(' '));
                    }
                    _ => {}
                }
            }
            letter => {
                if column == columns {
                    down(&mut screen, &mut row);
                    column = 0;
                }
                screen[row][column] = letter;
                column += 1;
            }
        }
    }
    screen.into_iter().map(|line| line.into_iter().collect::<String>().trim_end().to_owned()).collect()
}
