tlc: 1 of 8, best 0.3188 ms (block_M=64,block_N=64,num_stages=3)
tlc: 2 of 8, best 0.3118 ms (block_M=64,block_N=128,num_stages=3)
tlc: 7 of 8, best 0.3048 ms (block_M=128,block_N=128,num_stages=3)
