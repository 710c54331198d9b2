//! Typings of built-ins as users write types.
//!
//! ```text
//! (Tensor (Tuple Integer Integer) t)   is written   (Tensor 2 t)
//! (Tensor i t)                         is written   (Tensor r t), where the index i is in no other place
//! i (Tensor i t)                       is written   Integer (Vec t), and (Tuple Integer Integer) (Tensor 2 t)
//! ```
//!
//! [`lm::scheme`] has a tensor by the type of its index, which is one rule for all ranks.

/// A type in a typing.
enum Tree<'a> {
    Word(&'a str),
    List(Vec<Tree<'a>>),
}

/// What an index variable is.
#[derive(Clone, Copy)]
enum Index {
    /// Of any rank.
    Any,
    /// Of that rank.
    Rank(usize),
}

/// Returns the argument types of a typing: more than one text, where the type of an index is an argument, too.
pub fn arguments_as_written(typing: &str) -> Vec<String> {
    let arguments = typing.split("->").next().unwrap_or(typing);
    let spaced = arguments.replace('(', " ( ").replace(')', " ) ");
    let types = trees(&mut spaced.split_whitespace());
    let is_index = |name: &str| types.iter().any(|ty| occurs(ty, name, true));
    let is_argument = |name: &&str| is_index(name) && types.iter().any(|ty| occurs(ty, name, false));
    let by: Vec<Index> = match spaced.split_whitespace().any(|word| is_argument(&word)) {
        true => vec![Index::Rank(1), Index::Rank(2)],
        false => vec![Index::Any],
    };
    let written = |by: Index| {
        let word = |word: &str| match by {
            Index::Rank(rank) if is_index(word) => Some(index(rank)),
            _ => None,
        };
        types.iter().map(|ty| ty.written(by, &word)).collect::<Vec<_>>().join(" ")
    };
    by.into_iter().map(written).collect()
}

fn trees<'a>(words: &mut dyn Iterator<Item = &'a str>) -> Vec<Tree<'a>> {
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "(" => found.push(Tree::List(trees(words))),
            ")" => break,
            word => found.push(Tree::Word(word)),
        }
    }
    found
}

/// Returns whether a variable is the index of a tensor in a type; or else, whether it is in another place.
fn occurs(ty: &Tree, name: &str, as_index: bool) -> bool {
    match ty {
        Tree::Word(word) => !as_index && *word == name && is_variable(word),
        Tree::List(parts) => match parts.as_slice() {
            [Tree::Word("Tensor"), Tree::Word(index), element] => {
                (as_index && *index == name && is_variable(index)) || occurs(element, name, as_index)
            }
            parts => parts.iter().any(|part| occurs(part, name, as_index)),
        },
    }
}

fn is_variable(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Returns the type of an index.
fn index(rank: usize) -> String {
    match rank {
        1 => "Integer".into(),
        _ => format!("(Tuple{})", " Integer".repeat(rank)),
    }
}

fn tensor(rank: usize, element: &str) -> String {
    if rank == 1 { format!("(Vec {element})") } else { format!("(Tensor {rank} {element})") }
}

impl Tree<'_> {
    /// Returns the type as it is written; `word` puts types for variables.
    fn written(&self, by: Index, word: &dyn Fn(&str) -> Option<String>) -> String {
        match self {
            Tree::Word(name) => word(name).unwrap_or_else(|| name.to_string()),
            Tree::List(parts) => match parts.as_slice() {
                [Tree::Word("Tensor"), index, element] => {
                    let element = element.written(by, word);
                    match (index, by) {
                        (Tree::List(parts), _) => tensor(parts.len() - 1, &element),
                        (Tree::Word("Integer"), _) => tensor(1, &element),
                        (Tree::Word(name), Index::Rank(rank)) if is_variable(name) => tensor(rank, &element),
                        (Tree::Word(_), _) => format!("(Tensor r {element})"),
                    }
                }
                parts => {
                    let parts: Vec<String> = parts.iter().map(|part| part.written(by, word)).collect();
                    format!("({})", parts.join(" "))
                }
            },
        }
    }
}
