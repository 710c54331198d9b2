//! Makes the functions between C and the rest: they turn the fields of the structures of C into values, and back.
//!
//! ```text
//! in    a tensor is (sizes.., data), a jagged one (size, offsets, data), or (size, offsets, element sizes, data)
//! out   the same after a flag, whether there is storage; given back are the fields as they are then
//! ```
//!
//! A function without tensors needs none and is called as it is. All results are compared with their
//! storage before the first of them is written.

use super::Worklist;
use super::body::Body;
use super::sink::Sink;
use super::value::{Tensor, Val};
use crate::error::Error;
use crate::interface::{CForm, Interface, Parameter};
use crate::ir::{Block, Failure, FunId, Function, Local, Memory, Op, Operand, Scalar, Stmt, Ty};
use crate::layout::components;
use lm::term::{Def, Version};
use lm::types::Type;
use std::collections::VecDeque;

const INTEGER: Ty = Scalar::Integer.ty();

/// The fields of one parameter, as the function gets them.
struct Fields {
    /// Its number, from 1.
    number: i64,
    /// For a result, whether there is storage for it.
    has_storage: Option<Operand>,
    sizes: Vec<Operand>,
    offsets: Option<Operand>,
    /// The sizes of all elements, one after the other, where these have several dimensions.
    element_sizes: Option<Operand>,
    data: Option<Operand>,
}

/// Returns what C calls for a definition that lowering knows by number.
pub(super) fn interface(
    def: &Def,
    [inputs, outputs]: [Vec<Parameter>; 2],
    direct: FunId,
    next: FunId,
    wanted: &mut Worklist,
) -> Result<(Interface, Option<Function>), Error> {
    if inputs.iter().chain(&outputs).all(|parameter| matches!(parameter.form, CForm::Scalar(_))) {
        return Ok((Interface { inputs, outputs, function: direct }, None));
    }
    let mut body = Body::new(&def.fun.name, wanted, def.body.span());
    let mut number = 0;
    let mut fields = |body: &mut Body, parameter: &Parameter, is_result| {
        number += 1;
        body.fields(&parameter.form, number, is_result)
    };
    let mut given: VecDeque<Fields> = inputs.iter().map(|input| fields(&mut body, input, false)).collect();
    let storage: Vec<Fields> = outputs.iter().map(|output| fields(&mut body, output, true)).collect();
    let params = (0..body.locals.len() as u32).map(Local).collect();
    let mut args = Vec::new();
    for ty in &def.fun.params {
        args.push(body.inward(ty, &mut given)?);
    }
    let checked = body.wanted.checked_function(&def.fun);
    let value = body.lower_call_into(&checked, &args, true, &Sink::Own)?;
    let mut results = VecDeque::new();
    outward(&def.fun.result, &value, &mut results);
    storage.iter().zip(&results).try_for_each(|(fields, result)| body.check_storage(fields, result))?;
    let mut out = Vec::new();
    for (fields, result) in storage.iter().zip(results) {
        out.extend(body.hand_over(fields, result)?);
    }
    let name = def.fun.name.version(Version::CInterface);
    let (span, locals) = (def.body.span(), body.locals);
    let block = Block { stmts: body.stmts, results: out };
    let function = Function { c_wrapper: true, ..Function::new(name, params, locals, block, span) };
    Ok((Interface { inputs, outputs, function: next }, Some(function)))
}

/// A result as C sees it.
enum Column {
    Scalar(Operand),
    /// Sizes, and data where there are any.
    Tensor(Vec<Operand>, Option<Operand>),
    /// The vector of tensors, how many dimensions they have, and which of their buffers is meant.
    Jagged(Tensor, usize, Option<usize>),
}

/// The columns of a value, one for each parameter of C.
fn outward(ty: &Type, value: &Val, out: &mut VecDeque<Column>) {
    match (ty, value) {
        (Type::Tuple(types), Val::Tuple(parts)) => {
            types.iter().zip(parts.iter()).for_each(|(ty, part)| outward(ty, part, out));
        }
        (Type::Tensor(_, element), Val::Tensor(tensor)) => {
            let inner = if let Type::Tensor(rank, inner) = &**element { Some((*rank, inner)) } else { None };
            let width = components(inner.map_or(element, |(_, inner)| inner)).expect("it has a layout").len();
            // One column without data where there are no components.
            let columns = (0..width).map(Some).chain((width == 0).then_some(None));
            out.extend(columns.map(|column| match inner {
                Some((rank, _)) => Column::Jagged((**tensor).clone(), rank, column),
                None => Column::Tensor(tensor.sizes.clone(), column.map(|i| tensor.buffers[i].clone())),
            }));
        }
        (_, value) => out.push_back(Column::Scalar(value.leaf())),
    }
}

impl Body<'_> {
    fn fields(&mut self, form: &CForm, number: i64, is_result: bool) -> Fields {
        let mut field = |ty| Operand::Local(self.local(ty));
        let plain = matches!(form, CForm::Scalar(_));
        let has_storage = (is_result && !plain).then(|| field(Scalar::Bool.ty()));
        let rank = match form {
            CForm::Scalar(_) => 0,
            CForm::Tensor { rank, .. } => *rank,
            CForm::Jagged { .. } => 1,
        };
        let sizes: Vec<Operand> = (0..rank).map(|_| field(INTEGER)).collect();
        let offsets = matches!(form, CForm::Jagged { .. }).then(|| field(INTEGER.buffer()));
        let several = matches!(form, CForm::Jagged { rank, .. } if *rank > 1);
        let element_sizes = several.then(|| field(INTEGER.buffer()));
        let data = match form {
            CForm::Scalar(scalar) => (!is_result).then(|| field(scalar.ty())),
            CForm::Tensor { base, .. } | CForm::Jagged { base, .. } => base.map(|base| field(base.ty().buffer())),
        };
        if !is_result {
            // Those of a result are the caller's to set only where there is storage.
            self.facts.are_sizes(&sizes);
            sizes.iter().filter_map(Operand::local).for_each(|Local(i)| self.locals[i as usize].is_size = true);
        }
        Fields { number, has_storage, sizes, offsets, element_sizes, data }
    }

    /// A value of a type from the parameters that C gave for it.
    fn inward(&mut self, ty: &Type, given: &mut VecDeque<Fields>) -> Result<Val, Error> {
        match ty {
            Type::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.inward(part, given));
                Ok(Val::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
            Type::Tensor(_, element) => {
                let inner = if let Type::Tensor(rank, inner) = &**element { Some((*rank, inner)) } else { None };
                let inmost = inner.map_or(element, |(_, inner)| inner);
                let width = components(inmost).expect("it has a layout").len().max(1);
                let columns: Vec<Fields> = given.drain(..width).collect();
                for column in &columns[1..] {
                    self.check_argument(&columns[0].sizes, &column.sizes, column.number);
                }
                match inner {
                    Some((rank, inner)) => self.elements(element, rank, inner, &columns),
                    None => {
                        let buffers = columns.iter().filter_map(|column| column.data.clone()).collect();
                        Ok(Tensor { element: (**element).clone(), sizes: columns[0].sizes.clone(), buffers }.val())
                    }
                }
            }
            _ => {
                let field = given.pop_front().and_then(|fields| fields.data);
                Ok(Val::Leaf(field.expect("there is a field for each scalar")))
            }
        }
    }

    fn check_argument(&mut self, wanted: &[Operand], found: &[Operand], number: i64) {
        for (a, b) in wanted.iter().zip(found) {
            let equal = self.op(Op::EqI, [a.clone(), b.clone()]);
            self.check(equal, Failure::BadArgument, [Operand::Integer(number)]);
        }
    }

    /// A vector of tensors, which are parts of the data.
    fn elements(&mut self, element: &Type, rank: usize, inner: &Type, columns: &[Fields]) -> Result<Val, Error> {
        let n = columns[0].sizes[0].clone();
        let result = self.alloc_tensor(element, &columns[0].sizes)?;
        self.count_to(&n, vec![], |body, i, _| {
            let mut first: Option<Vec<Operand>> = None;
            let mut buffers = Vec::new();
            for column in columns {
                let (start, sizes) = body.element(column, rank, &i);
                match &first {
                    None => first = Some(sizes),
                    Some(first) => body.check_argument(first, &sizes, column.number),
                }
                if let Some(data) = &column.data {
                    let view = |x| Memory::View(x, data.clone(), start.clone());
                    buffers.push(body.memory(body.ty_of(data), view));
                }
            }
            let sizes = first.expect("there is a column");
            let tensor = Tensor { element: inner.clone(), sizes, buffers }.val();
            body.store_element(&result, &i, &tensor);
            Ok(vec![])
        })?;
        Ok(result.val())
    }

    /// Returns the start of element i of a jagged tensor, and its size.
    fn element(&mut self, column: &Fields, rank: usize, i: &Operand) -> (Operand, Vec<Operand>) {
        let offsets = column.offsets.as_ref().expect("a jagged tensor has offsets");
        let start = self.load_cell(offsets, i);
        let Some(sizes) = &column.element_sizes else {
            let next = self.op(Op::AddI, [i.clone(), Operand::Integer(1)]);
            let end = self.load_cell(offsets, &next);
            let length = self.op(Op::SubI, [end, start.clone()]);
            return (start, vec![length]);
        };
        let places = self.places(rank, i);
        (start, places.iter().map(|place| self.load_cell(sizes, place)).collect())
    }

    /// Returns the positions of the sizes of element i.
    fn places(&mut self, rank: usize, i: &Operand) -> Vec<Operand> {
        let first = self.op(Op::MulI, [i.clone(), Operand::Integer(rank as i64)]);
        (0..rank).map(|j| self.op(Op::AddI, [first.clone(), Operand::Integer(j as i64)])).collect()
    }

    /// Checks that the storage, if there is any, has the size of the result.
    fn check_storage(&mut self, fields: &Fields, result: &Column) -> Result<(), Error> {
        let Some(has_storage) = fields.has_storage.clone() else { return Ok(()) };
        let check = |body: &mut Self| match result {
            Column::Scalar(_) => Ok(vec![]),
            Column::Tensor(sizes, _) => {
                body.check_shape(fields.number, sizes, &fields.sizes);
                Ok(vec![])
            }
            Column::Jagged(tensors, rank, _) => {
                body.check_shape(fields.number, &tensors.sizes, &fields.sizes);
                body.count_to(&tensors.sizes[0], vec![], |body, i, _| {
                    let sizes: Vec<Operand> = body.sizes_of(tensors, *rank, &i);
                    let (_, room) = body.element(fields, *rank, &i);
                    body.check_shape(fields.number, &sizes, &room);
                    Ok(vec![])
                })
            }
        };
        self.choose(has_storage, check, |_| Ok(vec![])).map(drop)
    }

    /// The size of element i, which is a tensor.
    fn sizes_of(&mut self, tensors: &Tensor, rank: usize, i: &Operand) -> Vec<Operand> {
        tensors.buffers[..rank].iter().map(|sizes| self.load_cell(sizes, i)).collect()
    }

    fn check_shape(&mut self, number: i64, result: &[Operand], storage: &[Operand]) {
        let numbers =
            [Operand::Integer(number)].into_iter().chain(result.iter().cloned()).chain(storage.iter().cloned());
        let numbers: Vec<Operand> = numbers.collect();
        for (a, b) in result.iter().zip(storage) {
            let equal = self.op(Op::EqI, [a.clone(), b.clone()]);
            self.check(equal, Failure::ShapeMismatch, numbers.clone());
        }
    }

    /// Copies a result into its storage; gives the fields as they are then.
    fn hand_over(&mut self, fields: &Fields, result: Column) -> Result<Vec<Operand>, Error> {
        match result {
            Column::Scalar(operand) => Ok(vec![operand]),
            Column::Tensor(sizes, None) => Ok(sizes),
            Column::Tensor(sizes, Some(data)) => {
                let (has_storage, storage) = storage(fields);
                let count = self.count(&sizes);
                let copied = |body: &mut Self| {
                    let (to, from) = (storage.clone(), data.clone());
                    body.stmts.push(Stmt::Memory(Memory::Move { to, from, count }));
                    Ok(vec![storage])
                };
                let place = self.choose(has_storage, copied, |_| Ok(vec![data.clone()]))?;
                Ok(sizes.into_iter().chain(place).collect())
            }
            Column::Jagged(tensors, rank, column) => self.hand_over_elements(fields, &tensors, rank, column),
        }
    }

    fn hand_over_elements(
        &mut self,
        fields: &Fields,
        tensors: &Tensor,
        rank: usize,
        column: Option<usize>,
    ) -> Result<Vec<Operand>, Error> {
        let has_storage = fields.has_storage.clone().expect("a result has a flag");
        let n = tensors.sizes[0].clone();
        let given = [&fields.offsets, &fields.element_sizes, &fields.data].into_iter().flatten().cloned().collect();
        let out = self.choose(has_storage, |_| Ok(given), |body| body.room_for_elements(fields, tensors, rank))?;
        if let (Some(column), Some(data)) = (column, out.last()) {
            let buffer = tensors.buffers[rank + column].clone();
            self.count_to(&n, vec![], |body, i, _| {
                let sizes = body.sizes_of(tensors, rank, &i);
                let count = body.count(&sizes);
                let [from, start] = [&buffer, &out[0]].map(|b| body.load_cell(b, &i));
                let to = body.memory(body.ty_of(data), |x| Memory::View(x, data.clone(), start));
                body.stmts.push(Stmt::Memory(Memory::Move { to, from, count }));
                Ok(vec![])
            })?;
        }
        Ok([n].into_iter().chain(out).collect())
    }

    /// Storage in the arena, with offsets and sizes set: offsets, sizes and data, those that there are.
    fn room_for_elements(&mut self, fields: &Fields, tensors: &Tensor, rank: usize) -> Result<Vec<Operand>, Error> {
        let n = tensors.sizes[0].clone();
        let ends = self.op(Op::AddI, [n.clone(), Operand::Integer(1)]);
        let offsets = self.alloc(INTEGER.buffer(), ends);
        let sizes = fields.element_sizes.is_some().then(|| {
            let count = self.op(Op::Count, [n.clone(), Operand::Integer(rank as i64)]);
            self.alloc(INTEGER.buffer(), count)
        });
        let store = |body: &mut Self, buffer: &Operand, at: &Operand, x: Operand| {
            body.stmts.push(Stmt::Memory(Memory::Store(buffer.clone(), at.clone(), x)));
        };
        let total = self.count_to(&n, vec![Operand::Integer(0)], |body, i, total| {
            store(body, &offsets, &i, total[0].clone());
            let size = body.sizes_of(tensors, rank, &i);
            let length = body.count(&size);
            if let Some(sizes) = &sizes {
                let places = body.places(rank, &i);
                places.iter().zip(size).for_each(|(place, n)| store(body, sizes, place, n));
            }
            Ok(vec![body.op(Op::AddI, [total[0].clone(), length])])
        })?;
        store(self, &offsets, &n, total[0].clone());
        let data = fields.data.as_ref().map(|data| self.alloc(self.ty_of(data), total[0].clone()));
        Ok([Some(offsets), sizes, data].into_iter().flatten().collect())
    }
}

fn storage(fields: &Fields) -> (Operand, Operand) {
    let data = fields.data.clone().expect("a result with data has a place for them");
    (fields.has_storage.clone().expect("a result has a flag"), data)
}
