"""tilelang.utils and its module tensor."""
# SPDX-License-Identifier: MIT
import sys
import types

from tlc_shim.profiler import TensorSupplyType, assert_close, supply

__path__ = []
torch_assert_close = assert_close


def get_tensor_supply(supply_type=TensorSupplyType.Integer):
    return lambda param: supply(param, supply_type)


tensor = types.ModuleType("tilelang.utils.tensor")
tensor.TensorSupplyType, tensor.torch_assert_close = TensorSupplyType, assert_close
tensor.get_tensor_supply = get_tensor_supply
sys.modules["tilelang.utils.tensor"] = tensor
