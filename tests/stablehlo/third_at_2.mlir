// Made by lmc.
//
// @main is [vjp third]. Its first result is 0, or the number of the first check that failed:
//   1  cases.ks:29:64: index out of range
module @lmc attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v: tensor<2xf64>, %dr: tensor<f64>) -> (tensor<i64>, tensor<f64>, tensor<2xf64>) {
    %t1 = stablehlo.slice %v [0:1] : (tensor<2xf64>) -> tensor<1xf64>
    %t1_1 = stablehlo.reshape %t1 : (tensor<1xf64>) -> tensor<f64>
    %c = stablehlo.constant dense<0.0> : tensor<f64>
    %t2 = stablehlo.compare GT, %t1_1, %c, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %if:3 = "stablehlo.if"(%t2) ({
      %c_1 = stablehlo.constant dense<1> : tensor<i64>
      %c_2 = stablehlo.constant dense<0> : tensor<i64>
      %c_3 = stablehlo.constant dense<false> : tensor<i1>
      %check = stablehlo.select %c_3, %c_2, %c_1 : tensor<i1>, tensor<i64>
      %c_4 = stablehlo.constant dense<0.0> : tensor<1xf64>
      %t3 = stablehlo.reshape %c_4 : (tensor<1xf64>) -> tensor<f64>
      %t4 = stablehlo.exponential %t1_1 : tensor<f64>
      %t = stablehlo.slice %v [1:2] : (tensor<2xf64>) -> tensor<1xf64>
      %t_1 = stablehlo.reshape %t : (tensor<1xf64>) -> tensor<f64>
      %t5 = stablehlo.multiply %t4, %t_1 : tensor<f64>
      %t6 = stablehlo.sine %t5 : tensor<f64>
      %t_2 = stablehlo.cosine %t5 : tensor<f64>
      %t7 = stablehlo.multiply %t3, %t_2 : tensor<f64>
      %t_3 = stablehlo.multiply %t3, %t6 : tensor<f64>
      %t_4 = stablehlo.multiply %t6, %dr : tensor<f64>
      %c_5 = stablehlo.constant dense<0.0> : tensor<2xf64>
      %t_5 = stablehlo.reshape %t_4 : (tensor<f64>) -> tensor<1xf64>
      %t_6 = stablehlo.multiply %t5, %t7 : tensor<f64>
      %t_7 = stablehlo.multiply %t_6, %dr : tensor<f64>
      %t_8 = stablehlo.reshape %t_7 : (tensor<f64>) -> tensor<1xf64>
      %t_9 = stablehlo.pad %t_8, %c, low = [0], high = [1], interior = [0] : (tensor<1xf64>, tensor<f64>) -> tensor<2xf64>
      %t_10 = stablehlo.add %c_5, %t_9 : tensor<2xf64>
      %t_11 = stablehlo.multiply %t4, %t7 : tensor<f64>
      %t_12 = stablehlo.multiply %t_11, %dr : tensor<f64>
      %t_13 = stablehlo.reshape %t_12 : (tensor<f64>) -> tensor<1xf64>
      %t_14 = stablehlo.pad %t_13, %c, low = [1], high = [0], interior = [0] : (tensor<1xf64>, tensor<f64>) -> tensor<2xf64>
      %t_15 = stablehlo.add %t_10, %t_14 : tensor<2xf64>
      stablehlo.return %t_3, %t_15, %check : tensor<f64>, tensor<2xf64>, tensor<i64>
    }, {
      %c_6 = stablehlo.constant dense<0.0> : tensor<2xf64>
      %t_16 = stablehlo.reshape %dr : (tensor<f64>) -> tensor<1xf64>
      %t_17 = stablehlo.pad %t_16, %c, low = [0], high = [1], interior = [0] : (tensor<1xf64>, tensor<f64>) -> tensor<2xf64>
      %c_7 = stablehlo.constant dense<0> : tensor<i64>
      stablehlo.return %t1_1, %t_17, %c_7 : tensor<f64>, tensor<2xf64>, tensor<i64>
    }) : (tensor<i1>) -> (tensor<f64>, tensor<2xf64>, tensor<i64>)
    return %if#2, %if#0, %if#1 : tensor<i64>, tensor<f64>, tensor<2xf64>
  }
}
