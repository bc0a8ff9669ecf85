package flowsim.conform;

import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;

/** The keyed states of a RuntimeContext, which has the methods of a store but is none. */
final class RuntimeStates implements KeyedStateStore {
    private final RuntimeContext context;

    RuntimeStates(RuntimeContext context) {
        this.context = context;
    }

    @Override
    public <T> ValueState<T> getState(ValueStateDescriptor<T> descriptor) {
        return context.getState(descriptor);
    }

    @Override
    public <T> ListState<T> getListState(ListStateDescriptor<T> descriptor) {
        return context.getListState(descriptor);
    }

    @Override
    public <T> ReducingState<T> getReducingState(ReducingStateDescriptor<T> descriptor) {
        return context.getReducingState(descriptor);
    }

    @Override
    public <I, A, O> AggregatingState<I, O> getAggregatingState(AggregatingStateDescriptor<I, A, O> descriptor) {
        return context.getAggregatingState(descriptor);
    }

    @Override
    public <K, V> MapState<K, V> getMapState(MapStateDescriptor<K, V> descriptor) {
        return context.getMapState(descriptor);
    }

    @Override
    public <T> org.apache.flink.api.common.state.v2.ValueState<T> getValueState(
            org.apache.flink.api.common.state.v2.ValueStateDescriptor<T> descriptor) {
        return context.getState(descriptor);
    }

    @Override
    public <T> org.apache.flink.api.common.state.v2.ListState<T> getListState(
            org.apache.flink.api.common.state.v2.ListStateDescriptor<T> descriptor) {
        return context.getListState(descriptor);
    }

    @Override
    public <K, V> org.apache.flink.api.common.state.v2.MapState<K, V> getMapState(
            org.apache.flink.api.common.state.v2.MapStateDescriptor<K, V> descriptor) {
        return context.getMapState(descriptor);
    }

    @Override
    public <T> org.apache.flink.api.common.state.v2.ReducingState<T> getReducingState(
            org.apache.flink.api.common.state.v2.ReducingStateDescriptor<T> descriptor) {
        return context.getReducingState(descriptor);
    }

    @Override
    public <I, A, O> org.apache.flink.api.common.state.v2.AggregatingState<I, O> getAggregatingState(
            org.apache.flink.api.common.state.v2.AggregatingStateDescriptor<I, A, O> descriptor) {
        return context.getAggregatingState(descriptor);
    }

    @Override
    public String getBackendTypeIdentifier() {
        return "hashmap";
    }
}
