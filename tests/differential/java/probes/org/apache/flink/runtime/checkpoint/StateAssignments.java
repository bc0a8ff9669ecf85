package org.apache.flink.runtime.checkpoint;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeOffsets;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.OperatorStateHandle;
import org.apache.flink.runtime.state.OperatorStreamStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** State of old subtasks, as JSON, distributed to new ones by the real classes. */
public final class StateAssignments {
    private static final ObjectMapper JSON = new ObjectMapper();

    private StateAssignments() {}

    /** {@code old[subtask] = [[stream, {name: [mode, [offset]]}]]}; the answer has an object of such streams per subtask. */
    public static String repartition(String old, int newParallelism) throws Exception {
        List<List<OperatorStateHandle>> handles = new ArrayList<>();
        for (JsonNode subtask : JSON.readTree(old)) {
            List<OperatorStateHandle> ofSubtask = new ArrayList<>();
            for (JsonNode handle : subtask) {
                ofSubtask.add(new OperatorStreamStateHandle(states(handle.get(1)), stream(handle.get(0).asText())));
            }
            handles.add(ofSubtask);
        }
        List<Map<String, Object>> answer = new ArrayList<>();
        for (List<OperatorStateHandle> subtask :
                RoundRobinOperatorStateRepartitioner.INSTANCE.repartitionState(
                        handles, handles.size(), newParallelism)) {
            Map<String, Object> streams = new TreeMap<>();
            for (OperatorStateHandle handle : subtask) {
                Map<String, Object> named = new TreeMap<>();
                handle.getStateNameToPartitionOffsets()
                        .forEach((name, info) ->
                                named.put(name, List.of(info.getDistributionMode().name(), info.getOffsets())));
                streams.put(name(handle.getDelegateStateHandle()), named);
            }
            answer.add(streams);
        }
        return JSON.writeValueAsString(answer);
    }

    /** {@code old[subtask] = [[stream, first, last key group]]}; the answer is of the same form. */
    public static String assign(String old, int maxParallelism, int newParallelism) throws Exception {
        JsonNode subtasks = JSON.readTree(old);
        OperatorState state = new OperatorState("n", "u", new OperatorID(1, 2), subtasks.size(), maxParallelism);
        for (int i = 0; i < subtasks.size(); i++) {
            List<KeyedStateHandle> handles = new ArrayList<>();
            for (JsonNode handle : subtasks.get(i)) {
                handles.add(
                        new KeyGroupsStateHandle(
                                new KeyGroupRangeOffsets(handle.get(1).asInt(), handle.get(2).asInt()),
                                stream(handle.get(0).asText())));
            }
            if (!handles.isEmpty()) {
                state.putState(
                        i,
                        OperatorSubtaskState.builder()
                                .setManagedKeyedState(new StateObjectCollection<>(handles))
                                .build());
            }
        }
        Method assign =
                StateAssignmentOperation.class.getDeclaredMethod(
                        "reAssignSubKeyedStates", OperatorState.class, List.class, int.class, int.class, int.class);
        assign.setAccessible(true);
        StateAssignmentOperation operation =
                new StateAssignmentOperation(1, new HashSet<>(), new HashMap<>(), true, false);
        List<KeyGroupRange> parts =
                StateAssignmentOperation.createKeyGroupPartitions(maxParallelism, newParallelism);
        List<Object> answer = new ArrayList<>();
        for (int i = 0; i < newParallelism; i++) {
            List<Object> ofSubtask = new ArrayList<>();
            Tuple2<?, ?> assigned =
                    (Tuple2<?, ?>) assign.invoke(operation, state, parts, i, newParallelism, subtasks.size());
            for (Object handle : (List<?>) assigned.f0) {
                KeyGroupsStateHandle groups = (KeyGroupsStateHandle) handle;
                ofSubtask.add(
                        List.of(
                                name(groups.getDelegateStateHandle()),
                                groups.getKeyGroupRange().getStartKeyGroup(),
                                groups.getKeyGroupRange().getEndKeyGroup()));
            }
            answer.add(ofSubtask);
        }
        return JSON.writeValueAsString(answer);
    }

    private static Map<String, OperatorStateHandle.StateMetaInfo> states(JsonNode named) {
        Map<String, OperatorStateHandle.StateMetaInfo> states = new HashMap<>();
        for (Iterator<Map.Entry<String, JsonNode>> entries = named.fields(); entries.hasNext(); ) {
            Map.Entry<String, JsonNode> entry = entries.next();
            JsonNode offsets = entry.getValue().get(1);
            long[] numbers = new long[offsets.size()];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = offsets.get(i).asLong();
            }
            OperatorStateHandle.Mode mode = OperatorStateHandle.Mode.valueOf(entry.getValue().get(0).asText());
            states.put(entry.getKey(), new OperatorStateHandle.StateMetaInfo(numbers, mode));
        }
        return states;
    }

    private static ByteStreamStateHandle stream(String name) {
        return new ByteStreamStateHandle(name, new byte[] {1});
    }

    private static String name(Object stream) {
        return ((ByteStreamStateHandle) stream).getHandleName();
    }
}
