// Made by lmc.
//
// @main is [vjp products]. Its first result is 0, or the number of the first check that failed: it has none.
module @lmc attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<2x3xf64>, %b: tensor<3x4xf64>, %v: tensor<2xf64>, %dr: tensor<f64>) -> (tensor<i64>, tensor<f64>, tensor<2x3xf64>, tensor<3x4xf64>, tensor<2xf64>) {
    %t9 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
    %t10 = stablehlo.tanh %t9 : tensor<2x4xf64>
    %t = stablehlo.multiply %t10, %t10 : tensor<2x4xf64>
    %c = stablehlo.constant dense<1.0> : tensor<2x4xf64>
    %t_1 = stablehlo.subtract %c, %t : tensor<2x4xf64>
    %c_1 = stablehlo.constant dense<0.0> : tensor<f64>
    %t_2 = stablehlo.reduce(%t10 init: %c_1) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf64>, tensor<f64>) -> tensor<2xf64>
    %t13 = stablehlo.dot_general %v, %t_2, contracting_dims = [0] x [0] : (tensor<2xf64>, tensor<2xf64>) -> tensor<f64>
    %t_3 = stablehlo.broadcast_in_dim %dr, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %t_4 = stablehlo.multiply %t_3, %t_2 : tensor<2xf64>
    %t_5 = stablehlo.dot_general %b, %t_1, contracting_dims = [1] x [1] : (tensor<3x4xf64>, tensor<2x4xf64>) -> tensor<3x2xf64>
    %t_6 = stablehlo.transpose %t_5, dims = [1, 0] : (tensor<3x2xf64>) -> tensor<2x3xf64>
    %t_7 = stablehlo.multiply %v, %t_3 : tensor<2xf64>
    %t_8 = stablehlo.broadcast_in_dim %t_7, dims = [0] : (tensor<2xf64>) -> tensor<2x3xf64>
    %t_9 = stablehlo.multiply %t_8, %t_6 : tensor<2x3xf64>
    %t_10 = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<2xf64>) -> tensor<2x3xf64>
    %t_11 = stablehlo.multiply %a, %t_10 : tensor<2x3xf64>
    %t_12 = stablehlo.dot_general %t_11, %t_1, contracting_dims = [0] x [0] : (tensor<2x3xf64>, tensor<2x4xf64>) -> tensor<3x4xf64>
    %t_13 = stablehlo.transpose %t_12, dims = [1, 0] : (tensor<3x4xf64>) -> tensor<4x3xf64>
    %t_14 = stablehlo.broadcast_in_dim %dr, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %t_15 = stablehlo.multiply %t_14, %t_13 : tensor<4x3xf64>
    %t_16 = stablehlo.transpose %t_15, dims = [1, 0] : (tensor<4x3xf64>) -> tensor<3x4xf64>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    return %c_2, %t13, %t_9, %t_16, %t_4 : tensor<i64>, tensor<f64>, tensor<2x3xf64>, tensor<3x4xf64>, tensor<2xf64>
  }
}
