//! Offsets and texts of tensors.

use lm::tensor::{Position, Tensor};
use lm::value::Value;

fn numbers(size: &[usize]) -> Tensor {
    let count: usize = size.iter().product();
    Tensor::new(size.to_vec(), (0..count as i64).map(Value::Integer).collect())
}

#[test]
fn positions_and_offsets_agree() {
    let tensor = numbers(&[2, 3, 2]);
    for (i, position) in Tensor::positions(tensor.size()).enumerate() {
        assert_eq!(tensor.offset(&position), Some(i), "{position}");
    }
    assert_eq!(tensor.offset(&Position::from(vec![1, 3, 0])), None);
    assert_eq!(tensor.offset(&Position::from(vec![0, -1, 0])), None);
}

#[test]
fn printing_nests() {
    assert_eq!(numbers(&[3]).to_string(), "[0, 1, 2]");
    assert_eq!(numbers(&[2, 2]).to_string(), "[[0, 1], [2, 3]]");
    assert_eq!(numbers(&[2, 0]).to_string(), "[[], []]");
    assert_eq!(numbers(&[0, 2]).to_string(), "[]");
}
