package flowsim.differential;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.RunnableFuture;
import java.util.stream.Collectors;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.UncompressedStreamCompressionDecorator;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.heap.HeapKeyedStateBackend;
import org.apache.flink.runtime.state.heap.HeapKeyedStateBackendBuilder;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSetFactory;
import org.apache.flink.runtime.state.internal.InternalAggregatingState;
import org.apache.flink.runtime.state.internal.InternalKvState;
import org.apache.flink.runtime.state.internal.InternalListState;
import org.apache.flink.runtime.state.internal.InternalMapState;
import org.apache.flink.runtime.state.internal.InternalMergingState;
import org.apache.flink.runtime.state.internal.InternalReducingState;
import org.apache.flink.runtime.state.internal.InternalValueState;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;
import org.apache.flink.runtime.state.metrics.LatencyTrackingStateConfig;
import org.apache.flink.runtime.state.metrics.SizeTrackingStateConfig;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** Runs a script of commands on the states of a real HeapKeyedStateBackend and answers what each of them answered. */
public final class KeyedStates {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final JsonNode script;
    private final int maxParallelism;
    private final KeyGroupRange range;
    private AbstractKeyedStateBackend<Object> backend;
    private final boolean isVoid;
    private final String mapKey;
    private final Map<String, InternalKvState<Object, Object, ?>> states = new LinkedHashMap<>();
    private final Map<String, StateDescriptor<?, ?>> descriptors = new HashMap<>();
    private Object namespace;
    private long now;

    private KeyedStates(JsonNode script) throws Exception {
        this.script = script;
        maxParallelism = script.get("max_parallelism").asInt();
        range = new KeyGroupRange(script.get("start").asInt(), script.get("end").asInt());
        backend = newBackend(range, Collections.emptyList());
        isVoid = script.get("void").asBoolean();
        mapKey = script.get("map_key").asText();
        namespace = isVoid ? VoidNamespace.INSTANCE : (Object) 0L;
        declareAll(script.get("ttl"));
    }

    private HeapKeyedStateBackend<Object> newBackend(KeyGroupRange range, List<KeyedStateHandle> handles) throws Exception {
        boolean isLong = script.get("key").asText().equals("LONG");
        return new HeapKeyedStateBackendBuilder<Object>(
                        null, serializer(isLong ? "LONG" : "STRING"), KeyedStates.class.getClassLoader(), maxParallelism,
                        range, new ExecutionConfig(), () -> now, LatencyTrackingStateConfig.disabled(),
                        SizeTrackingStateConfig.disabled(), handles,
                        UncompressedStreamCompressionDecorator.INSTANCE, LocalRecoveryConfig.BACKUP_AND_RECOVERY_DISABLED,
                        new HeapPriorityQueueSetFactory(range, maxParallelism, 128), true, new CloseableRegistry())
                .build();
    }

    private void declareAll(JsonNode ttl) throws Exception {
        TypeSerializer<Object> longs = serializer("LONG");
        declare("value", new ValueStateDescriptor<>("value", longs), ttl);
        declare("list", new ListStateDescriptor<>("list", longs), ttl);
        declare("map", new MapStateDescriptor<>("map", serializer(mapKey), longs), ttl);
        declare("reducing", new ReducingStateDescriptor<>("reducing", (a, b) -> mix((long) a, 31, (long) b), longs), ttl);
        declare("aggregating", new AggregatingStateDescriptor<>("aggregating", new Mix(), longs), ttl);
    }

    /** Stores the state in subtasks of these ranges, and restores it into one; every step rescales. */
    private void restore(JsonNode starts, JsonNode ttl) throws Exception {
        KeyedStateHandle stored = snapshot(backend);
        List<KeyedStateHandle> parts = new ArrayList<>();
        int end = range.getEndKeyGroup();
        for (int i = 0; i < starts.size(); i++) {
            int last = i + 1 < starts.size() ? starts.get(i + 1).asInt() - 1 : end;
            KeyGroupRange part = new KeyGroupRange(starts.get(i).asInt(), last);
            KeyedStateHandle cut = stored == null ? null : stored.getIntersection(part);
            restart(part, cut == null ? List.of() : List.of(cut), ttl);
            parts.add(snapshot(backend));
        }
        parts.removeIf(Objects::isNull);
        restart(range, parts, ttl);
    }

    private void restart(KeyGroupRange range, List<KeyedStateHandle> handles, JsonNode ttl) throws Exception {
        backend.dispose();
        backend = newBackend(range, handles);
        declareAll(ttl);
    }

    private static KeyedStateHandle snapshot(AbstractKeyedStateBackend<Object> backend) throws Exception {
        RunnableFuture<SnapshotResult<KeyedStateHandle>> future = backend.snapshot(
                1, 0, new MemCheckpointStreamFactory(1 << 26), CheckpointOptions.forCheckpointWithDefaultLocation());
        future.run();
        return future.get().getJobManagerOwnedSnapshot();
    }

    /** A reduction whose order shows. */
    private static long mix(long a, long factor, long b) {
        return (a * factor + b) % 1_000_003;
    }

    private static final class Mix implements AggregateFunction<Object, Object, Object> {
        @Override
        public Object createAccumulator() {
            return 1L;
        }

        @Override
        public Object add(Object value, Object accumulator) {
            return mix((long) accumulator, 3, (long) value);
        }

        @Override
        public Object getResult(Object accumulator) {
            return "is " + accumulator;
        }

        @Override
        public Object merge(Object a, Object b) {
            return mix((long) a, 7, (long) b);
        }
    }

    @SuppressWarnings("unchecked")
    private static TypeSerializer<Object> serializer(String type) {
        TypeSerializer<?> found =
                type.equals("LONG") ? LongSerializer.INSTANCE : type.equals("INT") ? IntSerializer.INSTANCE : StringSerializer.INSTANCE;
        return (TypeSerializer<Object>) (TypeSerializer<?>) found;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private TypeSerializer<Object> namespaceSerializer() {
        return (TypeSerializer) (isVoid ? VoidNamespaceSerializer.INSTANCE : LongSerializer.INSTANCE);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private void declare(String name, StateDescriptor<?, ?> descriptor, JsonNode ttl) throws Exception {
        if (!ttl.isNull()) {
            descriptor.enableTimeToLive(config(ttl));
        }
        descriptors.put(name, descriptor);
        states.put(name, (InternalKvState) backend.getOrCreateKeyedState(namespaceSerializer(), (StateDescriptor) descriptor));
        states.get(name).setCurrentNamespace(namespace);
    }

    private static StateTtlConfig config(JsonNode ttl) {
        StateTtlConfig.Builder builder = StateTtlConfig.newBuilder(Duration.ofMillis(ttl.get("ms").asLong()))
                .setUpdateType(StateTtlConfig.UpdateType.valueOf(ttl.get("update").asText()))
                .setStateVisibility(StateTtlConfig.StateVisibility.valueOf(ttl.get("visibility").asText()));
        if (!ttl.get("cleanup").isNull()) {
            builder.cleanupIncrementally(ttl.get("cleanup").get(0).asInt(), ttl.get("cleanup").get(1).asBoolean());
        }
        if (!ttl.get("background").asBoolean()) {
            builder.disableCleanupInBackground();
        }
        return builder.build();
    }

    /** Answers a list: what each command of the script answered, or {"error": class}. */
    public static String run(String text) throws Exception {
        JsonNode script = JSON.readTree(text);
        KeyedStates states = new KeyedStates(script);
        List<Object> answers = new ArrayList<>();
        for (JsonNode command : script.get("commands")) {
            try {
                answers.add(states.answer(command.get(0).asText(), command));
            } catch (Exception error) {
                answers.add(Map.of("error", error.getClass().getSimpleName(), "message", String.valueOf(error.getMessage())));
            }
        }
        states.backend.dispose();
        return JSON.writeValueAsString(answers);
    }

    private Object key(String type, JsonNode node) {
        return type.equals("LONG") ? (Object) node.asLong() : type.equals("INT") ? (Object) node.asInt() : node.asText();
    }

    private static Object value(JsonNode node) {
        return node.isNull() ? null : (Object) node.asLong();
    }

    private static List<Object> values(JsonNode node) {
        List<Object> found = new ArrayList<>();
        node.forEach(item -> found.add(value(item)));
        return found;
    }

    private static List<Object> listed(Iterable<?> items) {
        List<Object> found = new ArrayList<>();
        if (items != null) {
            items.forEach(found::add);
        }
        return found;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private Object answer(String command, JsonNode c) throws Exception {
        switch (command) {
            case "key":
                backend.setCurrentKey(c.get(1).isTextual() ? c.get(1).asText() : (Object) c.get(1).asLong());
                return null;
            case "namespace":
                namespace = isVoid ? VoidNamespace.INSTANCE : (Object) c.get(1).asLong();
                states.values().forEach(state -> state.setCurrentNamespace(namespace));
                return null;
            case "time":
                now = c.get(1).asLong();
                return null;
            case "restore":
                restore(c.get(1), c.get(2));
                return null;
            case "clear":
                states.get(c.get(1).asText()).clear();
                return null;
            case "merge":
                ((InternalMergingState) states.get(c.get(1).asText())).mergeNamespaces(namespace, values(c.get(2)));
                return null;
            case "keys":
                return backend.getKeys(c.get(1).asText(), namespace).collect(Collectors.toList());
            case "apply":
                List<Object> seen = new ArrayList<>();
                backend.applyToAllKeys(namespace, namespaceSerializer(), (StateDescriptor) descriptors.get("value"), (key, state) -> {
                    seen.add(key);
                    ((InternalValueState) state).update(c.get(1).asLong());
                });
                return seen;
            case "clear_all":
                backend.applyToAllKeys(namespace, namespaceSerializer(), (StateDescriptor) descriptors.get("list"), (key, state) ->
                        ((InternalListState) state).clear());
                return null;
            case "fill":
                for (long i = c.get(1).asLong(); i < c.get(2).asLong(); i++) {
                    backend.setCurrentKey(i);
                    ((InternalValueState) states.get("value")).update(i);
                    ((InternalListState) states.get("list")).add(i);
                    ((InternalMapState) states.get("map")).put(key(mapKey, c.get(1)), i);
                    ((InternalReducingState) states.get("reducing")).add(i);
                }
                return null;
            default:
                return ofState(command, c);
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private Object ofState(String command, JsonNode c) throws Exception {
        InternalValueState<Object, Object, Object> value = (InternalValueState) states.get("value");
        InternalListState<Object, Object, Object> list = (InternalListState) states.get("list");
        InternalMapState<Object, Object, Object, Object> map = (InternalMapState) states.get("map");
        InternalReducingState<Object, Object, Object> reducing = (InternalReducingState) states.get("reducing");
        InternalAggregatingState<Object, Object, Object, Object, Object> aggregating =
                (InternalAggregatingState) states.get("aggregating");
        switch (command) {
            case "value.value":
                return value.value();
            case "value.update":
                value.update(value(c.get(1)));
                return null;
            case "list.get":
                return listed(list.get());
            case "list.add":
                list.add(value(c.get(1)));
                return null;
            case "list.add_all":
                list.addAll(values(c.get(1)));
                return null;
            case "list.update":
                list.update(values(c.get(1)));
                return null;
            case "map.get":
                return map.get(key(mapKey, c.get(1)));
            case "map.put":
                map.put(key(mapKey, c.get(1)), value(c.get(2)));
                return null;
            case "map.put_all":
                Map<Object, Object> entries = new LinkedHashMap<>();
                c.get(1).forEach(pair -> entries.put(key(mapKey, pair.get(0)), value(pair.get(1))));
                map.putAll(entries);
                return null;
            case "map.remove":
                map.remove(key(mapKey, c.get(1)));
                return null;
            case "map.contains":
                return map.contains(key(mapKey, c.get(1)));
            case "map.items":
                List<Object> items = new ArrayList<>();
                for (Map.Entry<Object, Object> entry : map.entries()) {
                    List<Object> pair = new ArrayList<>();
                    pair.add(entry.getKey());
                    pair.add(entry.getValue());
                    items.add(pair);
                }
                return items;
            case "map.keys":
                return listed(map.keys());
            case "map.values":
                return listed(map.values());
            case "map.is_empty":
                return map.isEmpty();
            case "reducing.get":
                return reducing.get();
            case "reducing.add":
                reducing.add(value(c.get(1)));
                return null;
            case "aggregating.get":
                return aggregating.get();
            case "aggregating.add":
                aggregating.add(value(c.get(1)));
                return null;
            default:
                throw new IllegalArgumentException(command);
        }
    }
}
