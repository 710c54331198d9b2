// Made by lmc.
//
// @main is [vjp window]. Its first result is 0, or the number of the first check that failed:
//   1  cases.ks:117:42: index out of range
module @lmc attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v: tensor<5xf64>, %k: tensor<i64>, %dr: tensor<f64>) -> (tensor<i64>, tensor<f64>, tensor<5xf64>) {
    %t = stablehlo.iota dim = 0 : tensor<3xi64>
    %t_1 = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<i64>) -> tensor<3xi64>
    %t5 = stablehlo.add %t_1, %t : tensor<3xi64>
    %c = stablehlo.constant dense<2> : tensor<i64>
    %t_2 = stablehlo.add %k, %c : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %t_3 = stablehlo.compare LE, %c_1, %k, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %c_2 = stablehlo.constant dense<5> : tensor<i64>
    %t_4 = stablehlo.compare LT, %t_2, %c_2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %t_5 = stablehlo.and %t_3, %t_4 : tensor<i1>
    %c_3 = stablehlo.constant dense<1> : tensor<i64>
    %check = stablehlo.select %t_5, %c_1, %c_3 : tensor<i1>, tensor<i64>
    %t3 = stablehlo.dynamic_slice %v, %k, sizes = [3] : (tensor<5xf64>, tensor<i64>) -> tensor<3xf64>
    %t_6 = stablehlo.multiply %t3, %t3 : tensor<3xf64>
    %t_7 = stablehlo.multiply %t_6, %t3 : tensor<3xf64>
    %c_4 = stablehlo.constant dense<0.0> : tensor<f64>
    %t4 = stablehlo.reduce(%t_7 init: %c_4) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
    %t_8 = stablehlo.add %t3, %t3 : tensor<3xf64>
    %t_9 = stablehlo.multiply %t3, %t_8 : tensor<3xf64>
    %t_10 = stablehlo.add %t_6, %t_9 : tensor<3xf64>
    %t_11 = stablehlo.broadcast_in_dim %dr, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %t_12 = stablehlo.multiply %t_10, %t_11 : tensor<3xf64>
    %c_5 = stablehlo.constant dense<0.0> : tensor<5xf64>
    %t7 = stablehlo.dynamic_update_slice %c_5, %t_12, %k : (tensor<5xf64>, tensor<3xf64>, tensor<i64>) -> tensor<5xf64>
    return %check, %t4, %t7 : tensor<i64>, tensor<f64>, tensor<5xf64>
  }
}
