// Made by lmc.
//
// @main is [vjp walk]. Its first result is 0, or the number of the first check that failed:
//   1  cases.ks:71:71: index out of range
//   2  cases.ks:71:71: index out of range
module @lmc attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%v: tensor<4xf64>, %steps: tensor<6xi64>, %dr: tensor<f64>) -> (tensor<i64>, tensor<f64>, tensor<4xf64>) {
    %c = stablehlo.constant dense<1.0> : tensor<f64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %c_2 = stablehlo.constant dense<0.0> : tensor<6xf64>
    %c_3 = stablehlo.constant dense<0> : tensor<6xi64>
    %c_4 = stablehlo.constant dense<6> : tensor<i64>
    %c_5 = stablehlo.constant dense<1> : tensor<i64>
    %loop:6 = stablehlo.while(%i = %c_1, %t3 = %c, %t4 = %c_1, %kept = %c_2, %kept_1 = %c_3, %status = %c_1) : tensor<i64>, tensor<f64>, tensor<i64>, tensor<6xf64>, tensor<6xi64>, tensor<i64>
    cond {
      %goes_on = stablehlo.compare LT, %i, %c_4, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %goes_on : tensor<i1>
    } do {
      %t = stablehlo.dynamic_slice %steps, %i, sizes = [1] : (tensor<6xi64>, tensor<i64>) -> tensor<1xi64>
      %t_1 = stablehlo.reshape %t : (tensor<1xi64>) -> tensor<i64>
      %t5 = stablehlo.add %t4, %t_1 : tensor<i64>
      %c_6 = stablehlo.constant dense<100.0> : tensor<f64>
      %t_2 = stablehlo.compare GT, %t3, %c_6, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %if:2 = "stablehlo.if"(%t_2) ({
        %c_7 = stablehlo.constant dense<0.5> : tensor<f64>
        %t_3 = stablehlo.multiply %c_7, %t3 : tensor<f64>
        stablehlo.return %t_3, %status : tensor<f64>, tensor<i64>
      }, {
        %t_4 = stablehlo.multiply %t3, %t3 : tensor<f64>
        %t_5 = stablehlo.compare LE, %c_1, %t5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %c_8 = stablehlo.constant dense<4> : tensor<i64>
        %t_6 = stablehlo.compare LT, %t5, %c_8, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %t_7 = stablehlo.and %t_5, %t_6 : tensor<i1>
        %check = stablehlo.select %t_7, %status, %c_5 : tensor<i1>, tensor<i64>
        %check_1 = stablehlo.compare EQ, %status, %c_1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %check_2 = stablehlo.select %check_1, %check, %status : tensor<i1>, tensor<i64>
        %t_8 = stablehlo.dynamic_slice %v, %t5, sizes = [1] : (tensor<4xf64>, tensor<i64>) -> tensor<1xf64>
        %t_9 = stablehlo.reshape %t_8 : (tensor<1xf64>) -> tensor<f64>
        %t_10 = stablehlo.add %t_4, %t_9 : tensor<f64>
        stablehlo.return %t_10, %check_2 : tensor<f64>, tensor<i64>
      }) : (tensor<i1>) -> (tensor<f64>, tensor<i64>)
      %next = stablehlo.add %i, %c_5 : tensor<i64>
      %next_1 = stablehlo.reshape %if#0 : (tensor<f64>) -> tensor<1xf64>
      %next_2 = stablehlo.dynamic_update_slice %kept, %next_1, %i : (tensor<6xf64>, tensor<1xf64>, tensor<i64>) -> tensor<6xf64>
      %next_3 = stablehlo.reshape %t5 : (tensor<i64>) -> tensor<1xi64>
      %next_4 = stablehlo.dynamic_update_slice %kept_1, %next_3, %i : (tensor<6xi64>, tensor<1xi64>, tensor<i64>) -> tensor<6xi64>
      stablehlo.return %next, %if#0, %t5, %next_2, %next_4, %if#1 : tensor<i64>, tensor<f64>, tensor<i64>, tensor<6xf64>, tensor<6xi64>, tensor<i64>
    }
    %c_9 = stablehlo.constant dense<1.0> : tensor<1xf64>
    %t_11 = stablehlo.concatenate %c_9, %loop#3, dim = 0 : (tensor<1xf64>, tensor<6xf64>) -> tensor<7xf64>
    %c_10 = stablehlo.constant dense<0> : tensor<1xi64>
    %t_12 = stablehlo.concatenate %c_10, %loop#4, dim = 0 : (tensor<1xi64>, tensor<6xi64>) -> tensor<7xi64>
    %c_11 = stablehlo.constant dense<0.0> : tensor<4xf64>
    %loop_1:4 = stablehlo.while(%t8 = %c_1, %t9 = %dr, %s = %c_11, %status_1 = %loop#5) : tensor<i64>, tensor<f64>, tensor<4xf64>, tensor<i64>
    cond {
      %goes_on_1 = stablehlo.compare LT, %t8, %c_4, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %goes_on_1 : tensor<i1>
    } do {
      %c_12 = stablehlo.constant dense<5> : tensor<i64>
      %t10 = stablehlo.subtract %c_12, %t8 : tensor<i64>
      %t11 = stablehlo.dynamic_slice %t_11, %t10, sizes = [1] : (tensor<7xf64>, tensor<i64>) -> tensor<1xf64>
      %t11_1 = stablehlo.reshape %t11 : (tensor<1xf64>) -> tensor<f64>
      %t12 = stablehlo.dynamic_slice %t_12, %t10, sizes = [1] : (tensor<7xi64>, tensor<i64>) -> tensor<1xi64>
      %t12_1 = stablehlo.reshape %t12 : (tensor<1xi64>) -> tensor<i64>
      %c_13 = stablehlo.constant dense<100.0> : tensor<f64>
      %t13 = stablehlo.compare GT, %t11_1, %c_13, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %if_1:4 = "stablehlo.if"(%t13) ({
        %c_14 = stablehlo.constant dense<0.5> : tensor<f64>
        %t_13 = stablehlo.multiply %c_14, %t9 : tensor<f64>
        %c_15 = stablehlo.constant dense<0.0> : tensor<f64>
        stablehlo.return %t_13, %c_15, %c_1, %status_1 : tensor<f64>, tensor<f64>, tensor<i64>, tensor<i64>
      }, {
        %t_14 = stablehlo.add %t11_1, %t11_1 : tensor<f64>
        %t_15 = stablehlo.multiply %t_14, %t9 : tensor<f64>
        %t_16 = stablehlo.dynamic_slice %steps, %t10, sizes = [1] : (tensor<6xi64>, tensor<i64>) -> tensor<1xi64>
        %t_17 = stablehlo.reshape %t_16 : (tensor<1xi64>) -> tensor<i64>
        %t_18 = stablehlo.add %t12_1, %t_17 : tensor<i64>
        %t_19 = stablehlo.compare LE, %c_1, %t_18, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %c_16 = stablehlo.constant dense<4> : tensor<i64>
        %t_20 = stablehlo.compare LT, %t_18, %c_16, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %t_21 = stablehlo.and %t_19, %t_20 : tensor<i1>
        %c_17 = stablehlo.constant dense<2> : tensor<i64>
        %check_3 = stablehlo.select %t_21, %status_1, %c_17 : tensor<i1>, tensor<i64>
        %check_4 = stablehlo.compare EQ, %status_1, %c_1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %check_5 = stablehlo.select %check_4, %check_3, %status_1 : tensor<i1>, tensor<i64>
        stablehlo.return %t_15, %t9, %t_18, %check_5 : tensor<f64>, tensor<f64>, tensor<i64>, tensor<i64>
      }) : (tensor<i1>) -> (tensor<f64>, tensor<f64>, tensor<i64>, tensor<i64>)
      %t_22 = stablehlo.reshape %if_1#1 : (tensor<f64>) -> tensor<1xf64>
      %t_23 = stablehlo.dynamic_slice %s, %if_1#2, sizes = [1] : (tensor<4xf64>, tensor<i64>) -> tensor<1xf64>
      %t_24 = stablehlo.add %t_23, %t_22 : tensor<1xf64>
      %t_25 = stablehlo.dynamic_update_slice %s, %t_24, %if_1#2 : (tensor<4xf64>, tensor<1xf64>, tensor<i64>) -> tensor<4xf64>
      %next_5 = stablehlo.add %t8, %c_5 : tensor<i64>
      stablehlo.return %next_5, %if_1#0, %t_25, %if_1#3 : tensor<i64>, tensor<f64>, tensor<4xf64>, tensor<i64>
    }
    %t_26 = stablehlo.slice %t_11 [6:7] : (tensor<7xf64>) -> tensor<1xf64>
    %t_27 = stablehlo.reshape %t_26 : (tensor<1xf64>) -> tensor<f64>
    return %loop_1#3, %t_27, %loop_1#2 : tensor<i64>, tensor<f64>, tensor<4xf64>
  }
}
