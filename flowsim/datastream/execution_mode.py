"""The mode of a job, under the name of PyFlink's module. PyFlink: RuntimeExecutionMode."""

from flowsim.graph.runtime_execution_mode import RuntimeExecutionMode

__all__ = ["RuntimeExecutionMode"]
