//! Makes one function of statements that are equal but for the names of locals.
//!
//! ```text
//! for i in 0..n { s }  ..  for j in 0..m { s[i := j, n := m, x := y] }
//!                                  =  call g(n, x)  ..  call g(m, y)      with  fun g(n, x) { for i in 0..n { s } }
//! s; t; u  ..  s; t; v             =  a = call g(); u  ..  b = call g(); v      with  fun g() { s; t; yield a }
//! ```
//!
//! A program multiplies matrices in many places. Once the product is inlined, each place has the same loops, and LLVM
//! would take its time for each of them: `nests`. The reverse derivative of a fold has the step of the fold in several
//! loops: `runs`. This pass is the last one: the others see statements with all that is around them.
//!
//! Places may differ in the order of what they compute: each value comes before what uses it first. They may differ in
//! which of their numbers are one, too: a product of square matrices is a product. The function takes those apart that
//! are apart in one of the places.
//!
//! Statements stay where they are if a buffer that they write to may share memory with another one of them: parameters
//! do not.

mod calls;
mod nests;
mod repeats;
mod runs;
mod scope;
mod shape;
mod text;

use super::pass::ModuleCx;

pub(super) fn run(cx: &mut ModuleCx) {
    let number = nests::run(cx);
    runs::run(cx, number);
    // A nest in one that is called is not, itself.
    cx.module.drop_unused();
    cx.module.mark();
}
