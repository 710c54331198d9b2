// Made by lmc.
//
// @main is [vjp one]. Its first result is 0, or the number of the first check that failed:
//   1  cases.ks:24:57: index out of range
module @lmc attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v: tensor<3xf64>, %i: tensor<i64>, %dr: tensor<f64>) -> (tensor<i64>, tensor<f64>, tensor<3xf64>) {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %t = stablehlo.compare LE, %c, %i, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %c_1 = stablehlo.constant dense<3> : tensor<i64>
    %t_1 = stablehlo.compare LT, %i, %c_1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %t_2 = stablehlo.and %t, %t_1 : tensor<i1>
    %c_2 = stablehlo.constant dense<1> : tensor<i64>
    %check = stablehlo.select %t_2, %c, %c_2 : tensor<i1>, tensor<i64>
    %t_3 = stablehlo.dynamic_slice %v, %i, sizes = [1] : (tensor<3xf64>, tensor<i64>) -> tensor<1xf64>
    %t_4 = stablehlo.reshape %t_3 : (tensor<1xf64>) -> tensor<f64>
    %c_3 = stablehlo.constant dense<2.0> : tensor<f64>
    %t_5 = stablehlo.multiply %c_3, %t_4 : tensor<f64>
    %t_6 = stablehlo.multiply %c_3, %dr : tensor<f64>
    %c_4 = stablehlo.constant dense<0.0> : tensor<3xf64>
    %t_7 = stablehlo.reshape %t_6 : (tensor<f64>) -> tensor<1xf64>
    %t_8 = stablehlo.dynamic_update_slice %c_4, %t_7, %i : (tensor<3xf64>, tensor<1xf64>, tensor<i64>) -> tensor<3xf64>
    return %check, %t_5, %t_8 : tensor<i64>, tensor<f64>, tensor<3xf64>
  }
}
