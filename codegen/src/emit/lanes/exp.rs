//! exp on vectors, in line: no call, which would take every vector that lives to memory and back.
//!
//!   exp x = 2^n exp r        n = x / log 2, rounded; r = x - n log 2, |r| <= log 2 / 2
//!   exp r = 1 + (r + r² Q(r))        Q of degree 9: the even powers and the odd ones, each by Horner's rule
//!
//! Q is the polynomial with the least maximum of |r² (Q(r) - (exp r - 1 - r) / r²)|, by Remez's exchange: 3.5e-18 over the
//! range. log 2 comes in two parts; the first is so short that its product with n is exact. n is rounded by adding a number
//! so large that its last digit is 1; so its last digits are n. At most 1 ulp off, which `lanes/tests` sees; NaN is NaN;
//! what is too large is infinity, what is too small is rounded as it should, down to 0.

use crate::emit::{Emitter, built};
use inkwell::FloatPredicate;
use inkwell::types::VectorType;
use inkwell::values::{BasicValueEnum, VectorValue};

/// Q, from the constant on.
const Q: [f64; 10] = [
    0.5000000000000012,
    0.166666666666667,
    0.04166666666651542,
    0.008333333333307203,
    0.0013888888947016498,
    0.00019841269917388965,
    2.4801489941722665e-05,
    2.7557216296247496e-06,
    2.76312804838574e-07,
    2.5117862466922306e-08,
];

const LOG_2: [f64; 2] = [0.6931471805582987, 1.6465949582897082e-12];

/// 1.5 2^52.
const ROUNDS: f64 = 6755399441055744.0;

/// Beyond, exp is infinity or 0.
const RANGE: [f64; 2] = [-746.0, 710.0];

impl<'ctx> Emitter<'ctx, '_> {
    /// exp of each lane, for vectors of the processor one after the other.
    pub(super) fn vector_exp(&self, x: VectorValue<'ctx>) -> VectorValue<'ctx> {
        let width = x.get_type().get_size().min(self.request.target.doubles());
        self.join(self.split(x, width).into_iter().map(|x| self.exp_of_vector(x)).collect())
    }

    fn exp_of_vector(&self, x: VectorValue<'ctx>) -> VectorValue<'ctx> {
        let x = self.within_range(x);
        let like = |number| self.floats(number, x);
        let rounded = self.fused(x, like(std::f64::consts::LOG2_E), like(ROUNDS));
        let n = built(self.builder.build_float_sub(rounded, like(ROUNDS), ""));
        let r = LOG_2.into_iter().fold(x, |r, part| self.fused(n, like(-part), r));
        let square = built(self.builder.build_float_mul(r, r, ""));
        let powers = |from: usize| {
            let of = |i: usize| like(Q[i]);
            (from..8).step_by(2).rev().fold(of(from + 8), |sum, i| self.fused(sum, square, of(i)))
        };
        let q = self.fused(powers(1), r, powers(0));
        let rest = self.fused(square, q, r);
        let exp_r = built(self.builder.build_float_add(rest, like(1.0), ""));
        self.scaled(exp_r, n, x)
    }

    /// The nearest number from which on exp does not change. NaN compares with nothing, and stays.
    fn within_range(&self, x: VectorValue<'ctx>) -> VectorValue<'ctx> {
        let [least, most] = RANGE.map(|bound| self.floats(bound, x));
        let nearer = |p, bound, x| {
            let beyond = built(self.builder.build_float_compare(p, bound, x, ""));
            self.select(beyond, VectorValue::into(bound), VectorValue::into(x)).into_vector_value()
        };
        nearer(FloatPredicate::OGT, least, nearer(FloatPredicate::OLT, most, x))
    }

    /// y 2^n for the n of x.
    fn scaled(&self, y: VectorValue<'ctx>, n: VectorValue<'ctx>, x: VectorValue<'ctx>) -> VectorValue<'ctx> {
        match y.get_type().get_size() {
            8 => self.scaled_at_once(y, n),
            _ => self.scaled_twice(y, n, x),
        }
    }

    /// By the instruction that processors with vectors of 8 have.
    fn scaled_at_once(&self, y: VectorValue<'ctx>, n: VectorValue<'ctx>) -> VectorValue<'ctx> {
        let all = self.context.i8_type().const_all_ones();
        let rounding_as_ever = self.i32().const_int(4, false);
        let args: [BasicValueEnum; 5] = [y.into(), n.into(), y.into(), all.into(), rounding_as_ever.into()];
        self.intrinsic("llvm.x86.avx512.mask.scalef.pd.512", &args, &[]).into_vector_value()
    }

    /// By two powers of 2: one alone may be too large or too small where the product is not.
    fn scaled_twice(&self, y: VectorValue<'ctx>, n: VectorValue<'ctx>, x: VectorValue<'ctx>) -> VectorValue<'ctx> {
        let b = &self.builder;
        let like = |number| self.floats(number, x);
        let integers = self.i64().vec_type(x.get_type().get_size());
        let bits = |v: VectorValue<'ctx>| built(b.build_bit_cast(v, integers, "")).into_vector_value();
        let words = |word: u64| {
            VectorType::const_vector(&vec![self.i64().const_int(word, false); integers.get_size() as usize])
        };
        let power = |n| {
            let biased = built(b.build_int_add(n, words(1023), ""));
            let exponent = built(b.build_left_shift(biased, words(52), ""));
            built(b.build_bit_cast(exponent, x.get_type(), "")).into_vector_value()
        };
        let whole = bits(built(b.build_float_add(n, like(ROUNDS), "")));
        let half = bits(self.fused(n, like(0.5), like(ROUNDS)));
        let rest = built(b.build_int_sub(whole, half, ""));
        [half, rest].into_iter().fold(y, |y, n| built(b.build_float_mul(y, power(n), "")))
    }

    /// a b + c, rounded once where the processor has that.
    fn fused(&self, a: VectorValue<'ctx>, b: VectorValue<'ctx>, c: VectorValue<'ctx>) -> VectorValue<'ctx> {
        self.intrinsic("llvm.fmuladd", &[a.into(), b.into(), c.into()], &[a.get_type().into()]).into_vector_value()
    }

    /// A number in all lanes.
    fn floats(&self, number: f64, like: VectorValue<'ctx>) -> VectorValue<'ctx> {
        VectorType::const_vector(&vec![
            self.context.f64_type().const_float(number);
            like.get_type().get_size() as usize
        ])
    }
}
