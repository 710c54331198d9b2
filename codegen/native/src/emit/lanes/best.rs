//! Emits the choice of the best element among the best ones of all lanes.
//!
//! ```text
//! lanes 0..W/2 beside lanes W/2..W, down to one:  the second where it is better, or as good and its place is the one
//!                                                 that counts (the earlier one if the first of equals stays)
//! ```

use crate::emit::Emitter;
use inkwell::types::VectorType;
use inkwell::values::{BasicValueEnum, VectorValue};
use loops::analyses::independence::Best;
use loops::ir::Op;

impl<'ctx> Emitter<'ctx, '_> {
    /// Returns the element and what goes with it, of the lane where it is best.
    pub(super) fn best_lane(&self, best: &Best, mut members: Vec<VectorValue<'ctx>>) -> Vec<BasicValueEnum<'ctx>> {
        let place = best.place.and_then(|place| best.members().position(|member| member == place));
        while members[0].get_type().get_size() > 1 {
            let width = members[0].get_type().get_size() / 2;
            let halves: Vec<_> = members.iter().map(|member| self.split(*member, width)).collect();
            let [value, places] = [Some(0), place].map(|i| i.map(|i| [halves[i][0], halves[i][1]]));
            let second = self.second_is_best(best, value.expect("there is an element"), places);
            let chosen = |pair: &Vec<VectorValue<'ctx>>| self.select(second, pair[1].into(), pair[0].into());
            members = halves.iter().map(|pair| chosen(pair).into_vector_value()).collect();
        }
        members.into_iter().map(|member| self.lane(member, 0)).collect()
    }

    fn second_is_best(
        &self,
        best: &Best,
        [first, second]: [VectorValue<'ctx>; 2],
        places: Option<[VectorValue<'ctx>; 2]>,
    ) -> VectorValue<'ctx> {
        let is_float = is_float(first.get_type());
        let (less, equal) = if is_float { (Op::LtF, Op::EqF) } else { (Op::LtI, Op::EqI) };
        let compare = |op, a: VectorValue<'ctx>, b: VectorValue<'ctx>| self.op(op, &[a.into(), b.into()]);
        let better = if best.taken.larger { compare(less, first, second) } else { compare(less, second, first) };
        let Some([before, after]) = places else { return better.into_vector_value() };
        let counts = if best.taken.last { compare(Op::LtI, before, after) } else { compare(Op::LtI, after, before) };
        let as_good = self.op(Op::And, &[compare(equal, first, second), counts]);
        self.op(Op::Or, &[better, as_good]).into_vector_value()
    }
}

fn is_float(vector: VectorType) -> bool {
    vector.get_element_type().is_float_type()
}
