// Made by lmc.
//
// @main is [vjp pick]. Its first result is 0, or the number of the first check that failed:
//   1  cases.ks:16:40: index out of range
module @lmc attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v: tensor<3xf64>, %places: tensor<4xi64>, %dr: tensor<f64>) -> (tensor<i64>, tensor<f64>, tensor<3xf64>) {
    %c = stablehlo.constant dense<0> : tensor<4xi64>
    %t = stablehlo.compare LE, %c, %places, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %c_1 = stablehlo.constant dense<3> : tensor<4xi64>
    %t_1 = stablehlo.compare LT, %places, %c_1, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %t_2 = stablehlo.and %t, %t_1 : tensor<4xi1>
    %c_2 = stablehlo.constant dense<true> : tensor<i1>
    %t_3 = stablehlo.reduce(%t_2 init: %c_2) applies stablehlo.and across dimensions = [0] : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
    %c_3 = stablehlo.constant dense<1> : tensor<i64>
    %c_4 = stablehlo.constant dense<0> : tensor<i64>
    %check = stablehlo.select %t_3, %c_4, %c_3 : tensor<i1>, tensor<i64>
    %t4 = stablehlo.reshape %places : (tensor<4xi64>) -> tensor<4x1xi64>
    %t4_1 = "stablehlo.gather"(%v, %t4) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<3xf64>, tensor<4x1xi64>) -> tensor<4xf64>
    %t_4 = stablehlo.add %t4_1, %t4_1 : tensor<4xf64>
    %t_5 = stablehlo.broadcast_in_dim %dr, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %t_6 = stablehlo.multiply %t_4, %t_5 : tensor<4xf64>
    %c_5 = stablehlo.constant dense<0.0> : tensor<3xf64>
    %t8 = stablehlo.reshape %places : (tensor<4xi64>) -> tensor<4x1xi64>
    %t8_1 = "stablehlo.scatter"(%c_5, %t8, %t_6) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%in.old: tensor<f64>, %in.new: tensor<f64>):
      %in.sum = stablehlo.add %in.old, %in.new : tensor<f64>
      stablehlo.return %in.sum : tensor<f64>
    }) : (tensor<3xf64>, tensor<4x1xi64>, tensor<4xf64>) -> tensor<3xf64>
    %t_7 = stablehlo.dot_general %t4_1, %t4_1, contracting_dims = [0] x [0] : (tensor<4xf64>, tensor<4xf64>) -> tensor<f64>
    return %check, %t_7, %t8_1 : tensor<i64>, tensor<f64>, tensor<3xf64>
  }
}
