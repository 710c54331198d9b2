//! Functions between C and the rest: from the fields of the structures that C passes to values and back.
//!
//!   in    a tensor is (sizes.., data), a jagged one (size, offsets, data)
//!   out   the same after a flag, whether there is storage; given back are the fields as they are then
//!
//! A function without tensors needs none and is called as it is. All results are compared with their
//! storage before the first of them is written.

use super::Wanted;
use super::body::Body;
use super::target::Target;
use super::value::{Tensor, Val};
use crate::error::Error;
use crate::interface::{Form, Interface, Parameter};
use crate::layout::components;
use crate::loops::{Block, Failure, FunId, Function, Local, Memory, Op, Operand, Scalar, Stmt, Ty};
use lm::term::Def;
use lm::types::Type;
use std::collections::VecDeque;

const INTEGER: Ty = Scalar::Integer.ty();

/// The fields of one parameter, as the function gets them.
struct Fields {
    /// Its number, from 1.
    number: i64,
    /// Of a result, whether there is storage for it.
    has_storage: Option<Operand>,
    sizes: Vec<Operand>,
    offsets: Option<Operand>,
    data: Option<Operand>,
}

/// What C calls for a definition that lowering knows by number.
pub(super) fn interface(
    def: &Def,
    [inputs, outputs]: [Vec<Parameter>; 2],
    direct: FunId,
    next: FunId,
    wanted: &mut Wanted,
) -> Result<(Interface, Option<Function>), Error> {
    if inputs.iter().chain(&outputs).all(|parameter| matches!(parameter.form, Form::Scalar(_))) {
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
    let value = body.call_into(&def.fun, &args, &Target::Own)?;
    let mut results = VecDeque::new();
    outward(&def.fun.result, &value, &mut results);
    storage.iter().zip(&results).try_for_each(|(fields, result)| body.check_storage(fields, result))?;
    let mut out = Vec::new();
    for (fields, result) in storage.iter().zip(results) {
        out.extend(body.hand_over(fields, result)?);
    }
    let types = out.iter().map(|a| body.ty_of(a)).collect();
    let name = def.fun.name.derived("c");
    let (span, locals) = (def.body.span(), body.locals);
    let block = Block { stmts: body.stmts, results: out };
    let function = Function {
        name,
        locals,
        params,
        results: types,
        body: block,
        recursive: false,
        between: true,
        allocates: false,
        span,
    };
    Ok((Interface { inputs, outputs, function: next }, Some(function)))
}

/// A result as C sees it.
enum Column {
    Scalar(Operand),
    /// Sizes, and data where there are any.
    Tensor(Vec<Operand>, Option<Operand>),
    /// The vector of rows, and which of their buffers is meant.
    Jagged(Tensor, Option<usize>),
}

/// The columns of a value, one for each parameter of C.
fn outward(ty: &Type, value: &Val, out: &mut VecDeque<Column>) {
    match (ty, value) {
        (Type::Tuple(types), Val::Tuple(parts)) => {
            types.iter().zip(parts.iter()).for_each(|(ty, part)| outward(ty, part, out));
        }
        (Type::Tensor(_, element), Val::Tensor(tensor)) => {
            let inner = if let Type::Tensor(_, inner) = &**element { Some(inner) } else { None };
            let width = components(inner.unwrap_or(element)).expect("it has a layout").len();
            // One column without data where there are no components.
            let columns = (0..width).map(Some).chain((width == 0).then_some(None));
            out.extend(columns.map(|column| match inner {
                Some(_) => Column::Jagged((**tensor).clone(), column),
                None => Column::Tensor(tensor.sizes.clone(), column.map(|i| tensor.buffers[i].clone())),
            }));
        }
        (_, value) => out.push_back(Column::Scalar(value.leaf())),
    }
}

impl Body<'_> {
    fn fields(&mut self, form: &Form, number: i64, is_result: bool) -> Fields {
        let mut field = |ty| Operand::Local(self.local(ty));
        let plain = matches!(form, Form::Scalar(_));
        let has_storage = (is_result && !plain).then(|| field(Scalar::Bool.ty()));
        let rank = match form {
            Form::Scalar(_) => 0,
            Form::Tensor { rank, .. } => *rank,
            Form::Jagged { .. } => 1,
        };
        let sizes: Vec<Operand> = (0..rank).map(|_| field(INTEGER)).collect();
        let offsets = matches!(form, Form::Jagged { .. }).then(|| field(INTEGER.buffer()));
        let data = match form {
            Form::Scalar(scalar) => (!is_result).then(|| field(scalar.ty())),
            Form::Tensor { base, .. } | Form::Jagged { base } => base.map(|base| field(base.ty().buffer())),
        };
        self.facts.are_sizes(&sizes);
        Fields { number, has_storage, sizes, offsets, data }
    }

    /// A value of a type from the parameters that C gave for it.
    fn inward(&mut self, ty: &Type, given: &mut VecDeque<Fields>) -> Result<Val, Error> {
        match ty {
            Type::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.inward(part, given));
                Ok(Val::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
            Type::Tensor(_, element) => {
                let inner = if let Type::Tensor(_, inner) = &**element { Some(inner) } else { None };
                let width = components(inner.unwrap_or(element)).expect("it has a layout").len().max(1);
                let columns: Vec<Fields> = given.drain(..width).collect();
                for column in &columns[1..] {
                    self.check_argument(&columns[0].sizes, &column.sizes, column.number);
                }
                match inner {
                    Some(inner) => self.rows(element, inner, &columns),
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

    /// A vector of vectors: the rows are parts of the data.
    fn rows(&mut self, row: &Type, inner: &Type, columns: &[Fields]) -> Result<Val, Error> {
        let n = columns[0].sizes[0].clone();
        let result = self.alloc_tensor(row, &columns[0].sizes)?;
        self.count_to(&n, vec![], |body, i, _| {
            let mut size: Option<Operand> = None;
            let mut buffers = Vec::new();
            for column in columns {
                let (start, length) = body.row(column, &i);
                match &size {
                    None => size = Some(length),
                    Some(size) => body.check_argument(std::slice::from_ref(size), &[length], column.number),
                }
                if let Some(data) = &column.data {
                    let view = |x| Memory::View(x, data.clone(), start.clone());
                    buffers.push(body.memory(body.ty_of(data), view));
                }
            }
            let sizes = vec![size.expect("there is a column")];
            let row = Tensor { element: inner.clone(), sizes, buffers }.val();
            body.store_element(&result, &i, &row);
            Ok(vec![])
        })?;
        Ok(result.val())
    }

    /// Where row i starts, and its length.
    fn row(&mut self, column: &Fields, i: &Operand) -> (Operand, Operand) {
        let offsets = column.offsets.as_ref().expect("a jagged tensor has offsets");
        let start = self.load_cell(offsets, i);
        let next = self.op(Op::AddI, [i.clone(), Operand::Integer(1)]);
        let end = self.load_cell(offsets, &next);
        let length = self.op(Op::SubI, [end, start.clone()]);
        (start, length)
    }

    /// Where there is storage, it must have the size of the result.
    fn check_storage(&mut self, fields: &Fields, result: &Column) -> Result<(), Error> {
        let Some(has_storage) = fields.has_storage.clone() else { return Ok(()) };
        let check = |body: &mut Self| match result {
            Column::Scalar(_) => Ok(vec![]),
            Column::Tensor(sizes, _) => {
                body.check_shape(fields.number, sizes, &fields.sizes);
                Ok(vec![])
            }
            Column::Jagged(rows, _) => {
                body.check_shape(fields.number, &rows.sizes, &fields.sizes);
                body.count_to(&rows.sizes[0], vec![], |body, i, _| {
                    let length = body.load_cell(&rows.buffers[0], &i);
                    let (_, room) = body.row(fields, &i);
                    body.check_shape(fields.number, &[length], &[room]);
                    Ok(vec![])
                })
            }
        };
        self.choose(has_storage, check, |_| Ok(vec![])).map(drop)
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
            Column::Jagged(rows, column) => self.hand_over_rows(fields, &rows, column),
        }
    }

    fn hand_over_rows(&mut self, fields: &Fields, rows: &Tensor, column: Option<usize>) -> Result<Vec<Operand>, Error> {
        let has_storage = fields.has_storage.clone().expect("a result has a flag");
        let n = rows.sizes[0].clone();
        let given = [fields.offsets.clone(), fields.data.clone()].into_iter().flatten().collect();
        let ends = self.op(Op::AddI, [n.clone(), Operand::Integer(1)]);
        let lengths = rows.buffers[0].clone();
        let offsets = self.choose(
            has_storage.clone(),
            |_| Ok(given),
            |body| {
                let offsets = body.alloc(INTEGER.buffer(), ends);
                let total = body.count_to(&n, vec![Operand::Integer(0)], |body, i, total| {
                    body.stmts.push(Stmt::Memory(Memory::Store(offsets.clone(), i.clone(), total[0].clone())));
                    let length = body.load_cell(&lengths, &i);
                    Ok(vec![body.op(Op::AddI, [total[0].clone(), length])])
                })?;
                body.stmts.push(Stmt::Memory(Memory::Store(offsets.clone(), n.clone(), total[0].clone())));
                let data = fields.data.as_ref().map(|data| body.alloc(body.ty_of(data), total[0].clone()));
                Ok([Some(offsets), data].into_iter().flatten().collect())
            },
        )?;
        if let Some(column) = column {
            let buffer = rows.buffers[1 + column].clone();
            let (offsets, data) = (offsets[0].clone(), offsets[1].clone());
            self.count_to(&n, vec![], |body, i, _| {
                let [from, count] = [&buffer, &lengths].map(|b| body.load_cell(b, &i));
                let start = body.load_cell(&offsets, &i);
                let to = body.memory(body.ty_of(&data), |x| Memory::View(x, data.clone(), start));
                body.stmts.push(Stmt::Memory(Memory::Move { to, from, count }));
                Ok(vec![])
            })?;
        }
        Ok([n].into_iter().chain(offsets).collect())
    }
}

fn storage(fields: &Fields) -> (Operand, Operand) {
    let data = fields.data.clone().expect("a result with data has a place for them");
    (fields.has_storage.clone().expect("a result has a flag"), data)
}
