package flowsim.conform;

import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;

/**
 * Builds the operators of one kind, without what every operator has: its name, uid, parallelism and chaining.
 *
 * <p>The plan names one of another package by its class, which has a public constructor without parameters.
 */
public interface OperatorBuilder {
    SingleOutputStreamOperator<?> build(PlanNode node);
}
