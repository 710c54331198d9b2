//! Reads a model from a file in the format of `demos/README.md`.

use crate::model::{GAMMA, Model, NAMES, Shape};
use std::fs::File;
use std::io::{BufRead, BufReader};

const LARGEST_SIZE: i64 = 1_000_000;

/// The lines of a file, and where it is.
struct Reader<'a> {
    path: &'a str,
    file: BufReader<File>,
    /// The number of the line in `text`.
    line: usize,
    text: String,
}

/// The model in a file; otherwise, what is wrong with the file, and where.
pub fn read(path: &str) -> Result<Model, String> {
    let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
    let mut from = Reader { path, file: BufReader::new(file), line: 0, text: String::new() };
    let shape = from.sizes()?;
    let mut point = Vec::new();
    for (part, name) in NAMES.iter().enumerate().take(GAMMA) {
        for _ in 0..shape.rows[part] {
            point.extend(from.row(&format!("a row of {name}"), shape.columns[part])?);
        }
    }
    let (gamma, m) = from.prior()?;
    point.push(gamma);
    from.end()?;
    Ok(Model::new(shape, point, m))
}

impl Reader<'_> {
    fn wrong<T>(&self, why: impl std::fmt::Display) -> Result<T, String> {
        Err(format!("{}:{}: {why}", self.path, self.line))
    }

    /// Reads the next line; gives its words. `what` it should be, for the message where the file ends.
    fn next_line(&mut self, what: &str) -> Result<Vec<&str>, String> {
        self.line += 1;
        let mut bytes = Vec::new();
        match self.file.read_until(b'\n', &mut bytes) {
            Err(error) => return self.wrong(error),
            Ok(0) => return self.wrong(format!("the file ends before {what}")),
            Ok(_) => self.text = String::from_utf8_lossy(&bytes).into_owned(),
        }
        Ok(self.text.split_ascii_whitespace().collect())
    }

    fn number(&self, word: &str) -> Result<f64, String> {
        // Rust also reads infinities and NaN.
        match word.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x),
            _ => self.wrong(format!("`{word}` is no number")),
        }
    }

    fn integer(&self, word: &str) -> Result<i64, String> {
        word.parse().or_else(|_| self.wrong(format!("`{word}` is no integer")))
    }

    /// Reads a line of so many numbers.
    fn row(&mut self, what: &str, count: usize) -> Result<Vec<f64>, String> {
        let words: Vec<String> = self.next_line(what)?.into_iter().map(String::from).collect();
        let numbers = words.iter().take(count).map(|word| self.number(word)).collect::<Result<Vec<_>, _>>()?;
        if words.len() != count {
            return self.wrong(format!("here are {} numbers, {what} has {count}", words.len()));
        }
        Ok(numbers)
    }

    /// Reads the first line.
    fn sizes(&mut self) -> Result<Shape, String> {
        let words: Vec<String> = self.next_line("d, k and n")?.into_iter().map(String::from).collect();
        let mut sizes = Vec::new();
        for word in words.iter().take(3) {
            let size = self.integer(word)?;
            if !(1..=LARGEST_SIZE).contains(&size) {
                return self.wrong(format!("a size is from 1 to {LARGEST_SIZE}, not {word}"));
            }
            sizes.push(size as usize);
        }
        match sizes[..] {
            [d, k, n] if words.len() == 3 => Ok(Shape::new(d, k, n)),
            _ => self.wrong(format!("here are {} numbers, the first line has 3: d, k and n", words.len())),
        }
    }

    /// Reads the last line.
    fn prior(&mut self) -> Result<(f64, i64), String> {
        let words: Vec<String> = self.next_line("the last line: gamma and m")?.into_iter().map(String::from).collect();
        match &words[..] {
            [gamma, m] => Ok((self.number(gamma)?, self.integer(m)?)),
            _ => self.wrong(format!("here are {} numbers, the last line has 2: gamma and m", words.len())),
        }
    }

    /// Checks that the rest of the file is white.
    fn end(&mut self) -> Result<(), String> {
        let mut rest = Vec::new();
        match std::io::Read::read_to_end(&mut self.file, &mut rest) {
            Err(error) => self.wrong(error),
            Ok(_) if rest.trim_ascii().is_empty() => Ok(()),
            Ok(_) => self.wrong("something follows the last line"),
        }
    }
}
