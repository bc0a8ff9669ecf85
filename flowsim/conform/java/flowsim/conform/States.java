package flowsim.conform;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.BroadcastState;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.ReadOnlyBroadcastState;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;

/** Flink's states of numbers of values, called by the names of the methods in Python. */
final class States {
    static final TypeInformation<Key> KEY = Types.POJO(Key.class);

    private States() {}

    static MapStateDescriptor<Key, Long> broadcastDescriptor(String name) {
        return new MapStateDescriptor<>(name, KEY, Types.LONG);
    }

    /** Answers numbers with commas, {@code -} for null; of a map's entries {@code key\tnumber} per line. */
    static String call(
            KeyedStateStore store, String kind, String name, String method, String argument, long functions)
            throws Exception {
        switch (kind) {
            case "value":
                return ofValue(store.getState(new ValueStateDescriptor<>(name, Types.LONG)), method, argument);
            case "list":
                return ofList(store.getListState(new ListStateDescriptor<>(name, Types.LONG)), method, argument);
            case "map":
                return ofMap(store.getMapState(new MapStateDescriptor<>(name, KEY, Types.LONG)), method, argument);
            case "reducing":
                return ofReducing(
                        store.getReducingState(new ReducingStateDescriptor<>(name, new Reduction(functions), Types.LONG)),
                        method,
                        argument);
            default:
                return ofAggregating(
                        store.getAggregatingState(
                                new AggregatingStateDescriptor<>(name, new Aggregation(functions), Types.LONG)),
                        method,
                        argument);
        }
    }

    static StateDescriptor<?, ?> descriptor(String kind, String name, long functions) {
        switch (kind) {
            case "value":
                return new ValueStateDescriptor<>(name, Types.LONG);
            case "list":
                return new ListStateDescriptor<>(name, Types.LONG);
            case "map":
                return new MapStateDescriptor<>(name, KEY, Types.LONG);
            case "reducing":
                return new ReducingStateDescriptor<>(name, new Reduction(functions), Types.LONG);
            default:
                return new AggregatingStateDescriptor<>(name, new Aggregation(functions), Types.LONG);
        }
    }

    /** Calls a method of a state that {@code forEachKey} visits. */
    @SuppressWarnings("unchecked")
    static String ofAny(Object state, String method, String argument) throws Exception {
        if (state instanceof ValueState) {
            return ofValue((ValueState<Long>) state, method, argument);
        }
        if (state instanceof MapState) {
            return ofMap((MapState<Key, Long>) state, method, argument);
        }
        if (state instanceof ReducingState) {
            return ofReducing((ReducingState<Long>) state, method, argument);
        }
        if (state instanceof ListState) {
            return ofList((ListState<Long>) state, method, argument);
        }
        return ofAggregating((AggregatingState<Long, Long>) state, method, argument);
    }

    private static String shown(Long number) {
        return number == null ? "-" : number.toString();
    }

    private static String ofValue(ValueState<Long> state, String method, String argument) throws Exception {
        switch (method) {
            case "value":
                return shown(state.value());
            case "update":
                state.update(argument.equals("-") ? null : Long.valueOf(argument));
                return "";
            default:
                state.clear();
                return "";
        }
    }

    private static String ofList(ListState<Long> state, String method, String argument) throws Exception {
        switch (method) {
            case "get":
                Iterable<Long> elements = state.get();
                return elements == null ? "-" : Bridge.text(elements);
            case "add":
                state.add(Long.valueOf(argument));
                return "";
            case "add_all":
                state.addAll(Bridge.numbers(argument));
                return "";
            case "update":
                state.update(Bridge.numbers(argument));
                return "";
            default:
                state.clear();
                return "";
        }
    }

    static String ofMap(MapState<Key, Long> state, String method, String argument) throws Exception {
        switch (method) {
            case "get":
                return shown(state.get(Key.of(argument)));
            case "put":
                String[] parts = argument.split("\t", 2);
                state.put(Key.of(parts[1]), Long.valueOf(parts[0]));
                return "";
            case "remove":
                state.remove(Key.of(argument));
                return "";
            case "contains":
                return String.valueOf(state.contains(Key.of(argument)));
            case "is_empty":
                return String.valueOf(state.isEmpty());
            case "items":
                return entries(state.entries());
            default:
                state.clear();
                return "";
        }
    }

    static String ofMap(BroadcastState<Key, Long> state, String method, String argument) throws Exception {
        switch (method) {
            case "put":
                String[] parts = argument.split("\t", 2);
                state.put(Key.of(parts[1]), Long.valueOf(parts[0]));
                return "";
            case "remove":
                state.remove(Key.of(argument));
                return "";
            case "clear":
                state.clear();
                return "";
            default:
                return ofMap((ReadOnlyBroadcastState<Key, Long>) state, method, argument);
        }
    }

    static String ofMap(ReadOnlyBroadcastState<Key, Long> state, String method, String argument)
            throws Exception {
        switch (method) {
            case "get":
                return shown(state.get(Key.of(argument)));
            case "contains":
                return String.valueOf(state.contains(Key.of(argument)));
            default:
                return entries(state.immutableEntries());
        }
    }

    private static String entries(Iterable<Map.Entry<Key, Long>> entries) {
        List<String> lines = new ArrayList<>();
        if (entries != null) {
            for (Map.Entry<Key, Long> entry : entries) {
                lines.add(entry.getValue() + "\t" + entry.getKey().text);
            }
        }
        return String.join("\n", lines);
    }

    private static String ofReducing(ReducingState<Long> state, String method, String argument) throws Exception {
        switch (method) {
            case "get":
                return shown(state.get());
            case "add":
                state.add(Long.valueOf(argument));
                return "";
            default:
                state.clear();
                return "";
        }
    }

    private static String ofAggregating(AggregatingState<Long, Long> state, String method, String argument)
            throws Exception {
        switch (method) {
            case "get":
                return shown(state.get());
            case "add":
                state.add(Long.valueOf(argument));
                return "";
            default:
                state.clear();
                return "";
        }
    }

    /** Reduces with a Python object that all subtasks share. */
    static final class Reduction implements ReduceFunction<Long> {
        private final long object;

        Reduction(long object) {
            this.object = object;
        }

        @Override
        public Long reduce(Long left, Long right) {
            return Long.valueOf(Bridge.call(new Host() {}, object, "reduce", left, right, ""));
        }
    }

    /** Aggregates with a Python object that all subtasks share; accumulators are numbers, too. */
    static final class Aggregation implements AggregateFunction<Long, Long, Long> {
        private final long object;

        Aggregation(long object) {
            this.object = object;
        }

        @Override
        public Long createAccumulator() {
            return Long.valueOf(Bridge.call(new Host() {}, object, "create_accumulator", 0, 0, ""));
        }

        @Override
        public Long add(Long value, Long accumulator) {
            return Long.valueOf(Bridge.call(new Host() {}, object, "add", value, accumulator, ""));
        }

        @Override
        public Long getResult(Long accumulator) {
            String result = Bridge.call(new Host() {}, object, "get_result", accumulator, 0, "");
            return result.equals("-") ? null : Long.valueOf(result);
        }

        @Override
        public Long merge(Long one, Long other) {
            return Long.valueOf(Bridge.call(new Host() {}, object, "merge", one, other, ""));
        }
    }
}
