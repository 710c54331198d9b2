//! Checks the types of UNF, `p : T => T'`, where T and T' are lists of types.
//!
//! ```text
//! var_i : T => T, Ti              k : T => T, R             op : T, A1, .., An => T, A1, .., An, B
//! if(p.., q..) : T, Bool => T, Bool, A      where p.., q.. : T, Bool => T, Bool, A
//! op(x. p.., ..) : T, A.. => T, A.., B      where p.. : T, A.., X => T, A.., X, Y
//! proj_{n;m;1} : T, A1, .., Am, B => T, B
//! ```
//!
//! Source: *Denotationally correct ..*, Figs. 6 and 7. A step of the target has these types, and Y from T' where the
//! source has T'.

use super::{Argument, Def, Step, values};
use lm::types::Type;

/// A step that has no type.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("step {number} of UNF is ill-typed: {reason}")]
pub struct IllTyped {
    /// The step, by its number from 1 in its list of steps.
    pub number: usize,
    /// The reason why it has no type.
    pub reason: String,
}

impl Def {
    /// Checks that the steps add the result of the function to the list of its parameters, and nothing else.
    ///
    /// Errors: the first step that has no type.
    pub fn check(&self) -> Result<(), IllTyped> {
        let mut list: Vec<Type> = self.params.iter().map(|x| x.ty().clone()).collect();
        follow(&self.steps, &mut list)?;
        let wanted: Vec<&Type> = self.fun.params.iter().chain([&self.fun.result]).collect();
        if list.iter().eq(wanted) {
            return Ok(());
        }
        let reason = format!("the last one leaves {}, and {} gives {}", text(&list), self.fun.name, self.fun.result);
        Err(IllTyped { number: self.steps.len(), reason })
    }

    /// Returns the definition, which a pass has made. An ill-typed one is a bug of the pass: it panics.
    pub(super) fn checked(self, pass: &str) -> Def {
        self.check().unwrap_or_else(|error| panic!("after {pass} of {}: {error}", self.fun.name));
        self
    }
}

/// Changes the list as the steps do.
fn follow(steps: &[Step], list: &mut Vec<Type>) -> Result<(), IllTyped> {
    for (i, step) in steps.iter().enumerate() {
        take(step, list).map_err(|reason| IllTyped { number: i + 1, reason })?;
    }
    Ok(())
}

fn take(step: &Step, list: &mut Vec<Type>) -> Result<(), String> {
    let length = list.len();
    let last = |n: usize| length.checked_sub(n).ok_or_else(|| format!("it takes {n} values, and there are {length}"));
    let added = match step {
        Step::Var(i) => match i.checked_sub(1).and_then(|i| list.get(i)) {
            Some(ty) => ty.clone(),
            None => return Err(format!("it takes value {i} of {length}")),
        },
        Step::Constant(k) => k.ty(),
        Step::Dummy(ty) => ty.clone(),
        Step::Op { op, arity, .. } => {
            let args = &list[last(*arity)?..];
            op.result(args).ok_or_else(|| format!("{op:?} does not take {}", text(args)))?
        }
        Step::If { yes, no, .. } => {
            if list[last(1)?..] != [Type::Bool] {
                return Err("it asks for a Bool".into());
            }
            let [yes, no] = [branch(yes, list)?, branch(no, list)?];
            if yes != no {
                return Err(format!("its branches give {yes} and {no}"));
            }
            yes
        }
        Step::Binder { op, args, .. } => {
            let first = last(values(args))?;
            let mut values = (first..length).map(|i| list[i].clone()).collect::<Vec<_>>().into_iter();
            let types = args.iter().map(|arg| match arg {
                Argument::Value => Ok(values.next().expect("they are counted")),
                Argument::Function(x, body) => {
                    list.push(x.ty().clone());
                    let result = branch(body, list);
                    list.pop();
                    Ok(Type::lam(x.ty().clone(), result?))
                }
            });
            let types = types.collect::<Result<Vec<Type>, String>>()?;
            op.result(&types).ok_or_else(|| format!("{op:?} does not take {}", text(&types)))?
        }
        Step::Proj(dropped) => {
            let kept = length.checked_sub(1).filter(|kept| dropped <= kept);
            let kept = kept.ok_or_else(|| format!("it drops {dropped} of {length} values"))?;
            list.drain(kept - dropped..kept);
            return Ok(());
        }
    };
    list.push(added);
    Ok(())
}

/// Returns the type that steps add to the list, which stays.
fn branch(steps: &[Step], list: &mut Vec<Type>) -> Result<Type, String> {
    let length = list.len();
    follow(steps, list).map_err(|inner| inner.to_string())?;
    match list.len() == length + 1 {
        true => Ok(list.pop().expect("there is one more")),
        false => Err(format!("steps in it leave {} values, not {}", list.len(), length + 1)),
    }
}

fn text(types: &[Type]) -> String {
    format!("[{}]", types.iter().map(Type::to_string).collect::<Vec<_>>().join(", "))
}
