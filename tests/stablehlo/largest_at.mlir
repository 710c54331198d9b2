// Made by lmc.
//
// @main is largest. Its first result is 0, or the number of the first check that failed: it has none.
module @lmc attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v: tensor<4xf64>) -> (tensor<i64>, tensor<i64>) {
    %t = stablehlo.iota dim = 0 : tensor<4xi64>
    %c = stablehlo.constant dense<0> : tensor<4xi64>
    %c_1 = stablehlo.constant dense<0x7FF0000000000000> : tensor<4xf64>
    %c_2 = stablehlo.constant dense<0xFFF0000000000000> : tensor<4xf64>
    %t_1 = stablehlo.compare EQ, %t, %c, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %t_2 = stablehlo.select %t_1, %c_1, %c_2 : tensor<4xi1>, tensor<4xf64>
    %t_3 = stablehlo.compare NE, %v, %v, FLOAT : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
    %t_4 = stablehlo.select %t_3, %t_2, %v : tensor<4xi1>, tensor<4xf64>
    %c_3 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %c_4 = stablehlo.constant dense<9223372036854775807> : tensor<i64>
    %t_5:2 = stablehlo.reduce(%t_4 init: %c_3), (%t init: %c_4) across dimensions = [0] : (tensor<4xf64>, tensor<4xi64>, tensor<f64>, tensor<i64>) -> (tensor<f64>, tensor<i64>)
      reducer(%in.x: tensor<f64>, %in.y: tensor<f64>) (%in.i: tensor<i64>, %in.j: tensor<i64>) {
        %in.above = stablehlo.compare GT, %in.x, %in.y, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %in.equal = stablehlo.compare EQ, %in.x, %in.y, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %in.before = stablehlo.compare LT, %in.i, %in.j, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %in.tie = stablehlo.and %in.equal, %in.before : tensor<i1>
        %in.first = stablehlo.or %in.above, %in.tie : tensor<i1>
        %in.value = stablehlo.select %in.first, %in.x, %in.y : tensor<i1>, tensor<f64>
        %in.place = stablehlo.select %in.first, %in.i, %in.j : tensor<i1>, tensor<i64>
        stablehlo.return %in.value, %in.place : tensor<f64>, tensor<i64>
      }
    %c_5 = stablehlo.constant dense<0> : tensor<i64>
    return %c_5, %t_5#1 : tensor<i64>, tensor<i64>
  }
}
