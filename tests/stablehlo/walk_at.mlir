// Made by lmc.
//
// @main is [vjp walk]. Its first result is 0, or the number of the first check that failed:
//   1  cases.ks:71:71: index out of range
//   2  cases.ks:69:12: index out of range
//   3  cases.ks:69:12: index out of range
//   4  cases.ks:71:71: index out of range
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
      %t_13 = stablehlo.compare LE, %c_1, %t10, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %c_13 = stablehlo.constant dense<7> : tensor<i64>
      %t_14 = stablehlo.compare LT, %t10, %c_13, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %t_15 = stablehlo.and %t_13, %t_14 : tensor<i1>
      %c_14 = stablehlo.constant dense<2> : tensor<i64>
      %check_3 = stablehlo.select %t_15, %status_1, %c_14 : tensor<i1>, tensor<i64>
      %check_4 = stablehlo.compare EQ, %status_1, %c_1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %check_5 = stablehlo.select %check_4, %check_3, %status_1 : tensor<i1>, tensor<i64>
      %t11 = stablehlo.dynamic_slice %t_11, %t10, sizes = [1] : (tensor<7xf64>, tensor<i64>) -> tensor<1xf64>
      %t11_1 = stablehlo.reshape %t11 : (tensor<1xf64>) -> tensor<f64>
      %t12 = stablehlo.dynamic_slice %t_12, %t10, sizes = [1] : (tensor<7xi64>, tensor<i64>) -> tensor<1xi64>
      %t12_1 = stablehlo.reshape %t12 : (tensor<1xi64>) -> tensor<i64>
      %c_15 = stablehlo.constant dense<100.0> : tensor<f64>
      %t13 = stablehlo.compare GT, %t11_1, %c_15, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %if_1:3 = "stablehlo.if"(%t13) ({
        %c_16 = stablehlo.constant dense<0.5> : tensor<f64>
        %t_16 = stablehlo.multiply %c_16, %t9 : tensor<f64>
        stablehlo.return %t_16, %c_11, %check_5 : tensor<f64>, tensor<4xf64>, tensor<i64>
      }, {
        %t_17 = stablehlo.add %t11_1, %t11_1 : tensor<f64>
        %t_18 = stablehlo.multiply %t_17, %t9 : tensor<f64>
        %t_19 = stablehlo.compare LT, %t10, %c_4, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %t_20 = stablehlo.and %t_13, %t_19 : tensor<i1>
        %c_17 = stablehlo.constant dense<3> : tensor<i64>
        %check_6 = stablehlo.select %t_20, %check_5, %c_17 : tensor<i1>, tensor<i64>
        %check_7 = stablehlo.compare EQ, %check_5, %c_1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %check_8 = stablehlo.select %check_7, %check_6, %check_5 : tensor<i1>, tensor<i64>
        %t_21 = stablehlo.dynamic_slice %steps, %t10, sizes = [1] : (tensor<6xi64>, tensor<i64>) -> tensor<1xi64>
        %t_22 = stablehlo.reshape %t_21 : (tensor<1xi64>) -> tensor<i64>
        %t_23 = stablehlo.add %t12_1, %t_22 : tensor<i64>
        %t_24 = stablehlo.compare LE, %c_1, %t_23, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %c_18 = stablehlo.constant dense<4> : tensor<i64>
        %t_25 = stablehlo.compare LT, %t_23, %c_18, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %t_26 = stablehlo.and %t_24, %t_25 : tensor<i1>
        %check_9 = stablehlo.select %t_26, %check_8, %c_18 : tensor<i1>, tensor<i64>
        %check_10 = stablehlo.compare EQ, %check_8, %c_1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %check_11 = stablehlo.select %check_10, %check_9, %check_8 : tensor<i1>, tensor<i64>
        %t_27 = stablehlo.reshape %t9 : (tensor<f64>) -> tensor<1xf64>
        %t_28 = stablehlo.dynamic_update_slice %c_11, %t_27, %t_23 : (tensor<4xf64>, tensor<1xf64>, tensor<i64>) -> tensor<4xf64>
        stablehlo.return %t_18, %t_28, %check_11 : tensor<f64>, tensor<4xf64>, tensor<i64>
      }) : (tensor<i1>) -> (tensor<f64>, tensor<4xf64>, tensor<i64>)
      %t_29 = stablehlo.add %s, %if_1#1 : tensor<4xf64>
      %next_5 = stablehlo.add %t8, %c_5 : tensor<i64>
      stablehlo.return %next_5, %if_1#0, %t_29, %if_1#2 : tensor<i64>, tensor<f64>, tensor<4xf64>, tensor<i64>
    }
    %t_30 = stablehlo.slice %t_11 [6:7] : (tensor<7xf64>) -> tensor<1xf64>
    %t_31 = stablehlo.reshape %t_30 : (tensor<1xf64>) -> tensor<f64>
    return %loop_1#3, %t_31, %loop_1#2 : tensor<i64>, tensor<f64>, tensor<4xf64>
  }
}
