//! Emits exp on vectors, in line. A call would spill every live vector to memory and load it again.
//!
//! ```text
//! exp x = 2^n exp r        n = x / log 2, rounded; r = x - n log 2
//! exp r = 1 + (r + r² Q(r))
//! ```
//!
//! n is whole, |r| <= log 2 / 2 and Q of degree 9: its even powers and the odd ones, each by Horner's rule. Some
//! processors look up elements of two vectors of 8 by one instruction. There, n is a multiple of 1/16, Q has degree 4,
//! and a table has the fraction of 2^n: 14 operations and a look-up, not 26.
//!
//! Q is the polynomial with the least maximum of |r² (Q(r) - (exp r - 1 - r) / r²)|, found by the exchange algorithm of
//! Remez. The maximum is 3.5e-18 over the range for degree 9, and 1.2e-17 for degree 4. The result is at most 1 ulp
//! off, as `tests/exp.rs` tests. NaN is NaN, and overflow is infinity. Results that underflow are rounded correctly,
//! down to 0.

use crate::emit::{Emitter, built};
use inkwell::FloatPredicate;
use inkwell::types::VectorType;
use inkwell::values::{BasicValueEnum, VectorValue};
use std::f64::consts::{LOG2_E, SQRT_2};

/// Q for whole n, from the constant on.
pub(super) const Q: [f64; 10] = [
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

/// Q for sixteenths.
pub(super) const SHORT_Q: [f64; 5] =
    [0.5000000000000006, 0.16666666664416963, 0.0416666666596544, 0.008333471951132567, 0.0013889129027039896];

/// 2^(j / 16), the nearest Floats.
pub(super) const POWERS: [f64; 16] = [
    1.0,
    1.0442737824274138,
    1.0905077326652577,
    1.1387886347566916,
    1.189207115002721,
    1.241857812073484,
    1.2968395546510096,
    1.3542555469368927,
    SQRT_2,
    1.4768261459394993,
    1.5422108254079407,
    1.6104903319492543,
    1.681792830507429,
    1.7562521603732995,
    1.8340080864093424,
    1.9152065613971474,
];

const LOG_2: [f64; 2] = [0.6931471805582987, 1.6465949582897082e-12];

/// 1.5 2^52: what is added to it is rounded to whole numbers.
const ROUNDS: f64 = 6755399441055744.0;

/// 1.5 2^48: to sixteenths.
const ROUNDS_TO_16TH: f64 = 422212465065984.0;

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
        match x.get_type().get_size() {
            8 => self.exp_by_table(x),
            _ => self.exp_by_polynomial(x),
        }
    }

    fn exp_by_table(&self, x: VectorValue<'ctx>) -> VectorValue<'ctx> {
        let (rounded, n, r, square) = self.reduced(x, ROUNDS_TO_16TH);
        let pair = |i: usize| self.fused(self.floats(SHORT_Q[i + 1], x), r, self.floats(SHORT_Q[i], x));
        let q = self.fused(self.fused(self.floats(SHORT_Q[4], x), square, pair(2)), square, pair(0));
        let rest = self.fused(square, q, r);
        let [low, high] = [&POWERS[..8], &POWERS[8..]].map(|half| {
            let numbers: Vec<_> = half.iter().map(|power| self.context.f64_type().const_float(*power)).collect();
            VectorType::const_vector(&numbers)
        });
        // The last four digits choose.
        let places = built(self.builder.build_bit_cast(rounded, self.i64().vec_type(8), ""));
        let args: [BasicValueEnum; 3] = [low.into(), places, high.into()];
        let power = self.intrinsic("llvm.x86.avx512.vpermi2var.pd.512", &args, &[]).into_vector_value();
        self.scaled(self.fused(power, rest, power), n)
    }

    fn exp_by_polynomial(&self, x: VectorValue<'ctx>) -> VectorValue<'ctx> {
        let (rounded, n, r, square) = self.reduced(x, ROUNDS);
        let powers = |from: usize| {
            let of = |i: usize| self.floats(Q[i], x);
            (from..8).step_by(2).rev().fold(of(from + 8), |sum, i| self.fused(sum, square, of(i)))
        };
        let q = self.fused(powers(1), r, powers(0));
        let rest = self.fused(square, q, r);
        let exp_r = built(self.builder.build_float_add(rest, self.floats(1.0, x), ""));
        self.scaled_twice(exp_r, n, rounded)
    }

    /// n with what it was rounded by, and alone; r and its square.
    fn reduced(
        &self,
        x: VectorValue<'ctx>,
        rounds: f64,
    ) -> (VectorValue<'ctx>, VectorValue<'ctx>, VectorValue<'ctx>, VectorValue<'ctx>) {
        let rounds = self.floats(rounds, x);
        let rounded = self.fused(x, self.floats(LOG2_E, x), rounds);
        let n = built(self.builder.build_float_sub(rounded, rounds, ""));
        let r = LOG_2.into_iter().fold(x, |r, part| self.fused(n, self.floats(-part, x), r));
        let square = built(self.builder.build_float_mul(r, r, ""));
        (rounded, n, r, square)
    }

    /// Returns the nearest number from which on exp does not change. NaN compares with nothing, and stays.
    fn within_range(&self, x: VectorValue<'ctx>) -> VectorValue<'ctx> {
        let [least, most] = RANGE.map(|bound| self.floats(bound, x));
        let nearer = |p, bound, x| {
            let beyond = built(self.builder.build_float_compare(p, bound, x, ""));
            self.select(beyond, VectorValue::into(bound), VectorValue::into(x)).into_vector_value()
        };
        nearer(FloatPredicate::OGT, least, nearer(FloatPredicate::OLT, most, x))
    }

    /// y 2^n, where n is rounded down.
    fn scaled(&self, y: VectorValue<'ctx>, n: VectorValue<'ctx>) -> VectorValue<'ctx> {
        let all = self.context.i8_type().const_all_ones();
        let rounding_as_ever = self.i32().const_int(4, false);
        let args: [BasicValueEnum; 5] = [y.into(), n.into(), y.into(), all.into(), rounding_as_ever.into()];
        self.intrinsic("llvm.x86.avx512.mask.scalef.pd.512", &args, &[]).into_vector_value()
    }

    /// y 2^n by two powers of 2: one alone may be too large or too small where the product is not.
    fn scaled_twice(
        &self,
        y: VectorValue<'ctx>,
        n: VectorValue<'ctx>,
        rounded: VectorValue<'ctx>,
    ) -> VectorValue<'ctx> {
        let b = &self.builder;
        let integers = self.i64().vec_type(y.get_type().get_size());
        let bits = |v: VectorValue<'ctx>| built(b.build_bit_cast(v, integers, "")).into_vector_value();
        let words = |word: u64| {
            VectorType::const_vector(&vec![self.i64().const_int(word, false); integers.get_size() as usize])
        };
        let power = |n| {
            let biased = built(b.build_int_add(n, words(1023), ""));
            let exponent = built(b.build_left_shift(biased, words(52), ""));
            built(b.build_bit_cast(exponent, y.get_type(), "")).into_vector_value()
        };
        let half = bits(self.fused(n, self.floats(0.5, y), self.floats(ROUNDS, y)));
        let rest = built(b.build_int_sub(bits(rounded), half, ""));
        [half, rest].into_iter().fold(y, |y, n| built(b.build_float_mul(y, power(n), "")))
    }

    /// a b + c, rounded once where the processor has that.
    fn fused(&self, a: VectorValue<'ctx>, b: VectorValue<'ctx>, c: VectorValue<'ctx>) -> VectorValue<'ctx> {
        self.intrinsic("llvm.fmuladd", &[a.into(), b.into(), c.into()], &[a.get_type().into()]).into_vector_value()
    }

    /// Returns a number in all lanes.
    fn floats(&self, number: f64, like: VectorValue<'ctx>) -> VectorValue<'ctx> {
        VectorType::const_vector(&vec![
            self.context.f64_type().const_float(number);
            like.get_type().get_size() as usize
        ])
    }
}
