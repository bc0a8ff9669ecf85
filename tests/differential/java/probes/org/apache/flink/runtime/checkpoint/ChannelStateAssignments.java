package org.apache.flink.runtime.checkpoint;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.flink.runtime.checkpoint.InflightDataRescalingDescriptor.InflightDataGateOrPartitionRescalingDescriptor;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.ResultSubpartitionInfo;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.executiongraph.ExecutionVertex;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.AbstractChannelStateHandle;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.runtime.state.InputStateHandle;
import org.apache.flink.runtime.state.OutputStateHandle;
import org.apache.flink.runtime.state.ResultSubpartitionStateHandle;
import org.apache.flink.runtime.state.StateObject;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;

/**
 * The in-flight data of a checkpoint, assigned to the subtasks of a restored job by a real StateAssignmentOperation.
 *
 * <p>Commands: old VERTEX PARALLELISM, state VERTEX BOOLEAN (whether its operators have state beside in-flight data),
 * input or output VERTEX OPERATOR SUBTASK GATE CHANNEL (operators are counted from the head), assign, task VERTEX SUBTASK.
 * A handle is named by its number.
 */
public final class ChannelStateAssignments {
    private final ScriptedExecutionGraph graph;
    private final int[] oldParallelism;
    private final boolean[] hasState;
    private final List<Stored> stored = new ArrayList<>();

    private static final class Stored {
        boolean isInput;
        int vertex;
        int operator;
        int subtask;
        int gate;
        int channel;
    }

    private ChannelStateAssignments(String description) throws Exception {
        String[] words = description.split(";");
        graph = new ScriptedExecutionGraph(words[0], words[1]);
        oldParallelism =
                IntStream.range(0, graph.vertexCount()).map(i -> graph.jobVertex(i).getParallelism()).toArray();
        hasState = new boolean[graph.vertexCount()];
    }

    /** The answers to a script: its first line describes the graph, each of the others is a command. */
    public static String run(String script) throws Exception {
        String[] lines = script.split("\n");
        ChannelStateAssignments assignments = new ChannelStateAssignments(lines[0]);
        StringJoiner answers = new StringJoiner("\n");
        answers.add("");
        for (int i = 1; i < lines.length; i++) {
            answers.add(assignments.execute(lines[i].split(" ")));
        }
        return answers.toString();
    }

    private String execute(String[] words) throws Exception {
        switch (words[0]) {
            case "old":
                oldParallelism[Integer.parseInt(words[1])] = Integer.parseInt(words[2]);
                return "";
            case "state":
                hasState[Integer.parseInt(words[1])] = Boolean.parseBoolean(words[2]);
                return "";
            case "assign":
                return assign();
            case "task":
                return task(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
            default:
                Stored handle = new Stored();
                handle.isInput = words[0].equals("input");
                handle.vertex = Integer.parseInt(words[1]);
                handle.operator = Integer.parseInt(words[2]);
                handle.subtask = Integer.parseInt(words[3]);
                handle.gate = Integer.parseInt(words[4]);
                handle.channel = Integer.parseInt(words[5]);
                stored.add(handle);
                return "";
        }
    }

    private String assign() {
        Map<OperatorID, OperatorState> states = new HashMap<>();
        Set<ExecutionJobVertex> vertices = new LinkedHashSet<>();
        forget();
        for (int i = 0; i < graph.vertexCount(); i++) {
            ExecutionJobVertex vertex = graph.jobVertex(i);
            vertices.add(vertex);
            for (int operator = 0; operator < vertex.getOperatorIDs().size(); operator++) {
                OperatorID id = operator(vertex, operator);
                OperatorState state = new OperatorState("", "", id, oldParallelism[i], 128);
                for (int subtask = 0; subtask < oldParallelism[i]; subtask++) {
                    OperatorSubtaskState ofSubtask = state(i, operator, subtask);
                    // A task without any state acknowledges null.
                    if (hasState[i] || ofSubtask.hasState()) {
                        state.putState(subtask, ofSubtask);
                    }
                }
                states.put(id, state);
            }
        }
        try {
            new StateAssignmentOperation(1, vertices, states, false, false).assignStates();
            return "";
        } catch (IllegalStateException | UnsupportedOperationException e) {
            forget();
            return e.getMessage().split("\n")[0];
        }
    }

    /** A refused assignment may have given some tasks their state. */
    private void forget() {
        for (ExecutionVertex task : graph.graph.getAllExecutionVertices()) {
            task.getCurrentExecutionAttempt().setInitialState(null);
        }
    }

    private OperatorSubtaskState state(int vertex, int operator, int subtask) {
        List<InputStateHandle> inputs = new ArrayList<>();
        List<OutputStateHandle> outputs = new ArrayList<>();
        for (int number = 0; number < stored.size(); number++) {
            Stored handle = stored.get(number);
            if (handle.vertex != vertex || handle.operator != operator || handle.subtask != subtask) {
                continue;
            }
            ByteStreamStateHandle stream = new ByteStreamStateHandle("" + number, new byte[] {1});
            if (handle.isInput) {
                inputs.add(
                        new InputChannelStateHandle(
                                subtask, new InputChannelInfo(handle.gate, handle.channel), stream, List.of(0L), 1));
            } else {
                outputs.add(
                        new ResultSubpartitionStateHandle(
                                subtask,
                                new ResultSubpartitionInfo(handle.gate, handle.channel),
                                stream,
                                List.of(0L),
                                1));
            }
        }
        return OperatorSubtaskState.builder()
                .setInputChannelState(new StateObjectCollection<>(inputs))
                .setResultSubpartitionState(new StateObjectCollection<>(outputs))
                .build();
    }

    private String task(int number, int subtask) {
        ExecutionJobVertex vertex = graph.jobVertex(number);
        JobManagerTaskRestore restore = vertex.getTaskVertices()[subtask].getCurrentExecutionAttempt().getTaskRestore();
        if (restore == null) {
            return "nothing";
        }
        TaskStateSnapshot snapshot = restore.getTaskStateSnapshot();
        OperatorSubtaskState head = snapshot.getSubtaskStateByOperatorID(operator(vertex, 0));
        OperatorSubtaskState tail =
                snapshot.getSubtaskStateByOperatorID(operator(vertex, vertex.getOperatorIDs().size() - 1));
        return String.join(
                " | ",
                names(head.getInputChannelState()),
                names(tail.getResultSubpartitionState()),
                described(head.getInputRescalingDescriptor(), vertex.getInputs().size()),
                described(tail.getOutputRescalingDescriptor(), vertex.getProducedDataSets().length));
    }

    private static String names(Iterable<? extends StateObject> handles) {
        StringJoiner names = new StringJoiner(" ");
        for (StateObject handle : handles) {
            names.add(((ByteStreamStateHandle) ((AbstractChannelStateHandle<?>) handle).getDelegate()).getHandleName());
        }
        return names.toString();
    }

    private static String described(InflightDataRescalingDescriptor descriptor, int count) {
        if (descriptor.equals(InflightDataRescalingDescriptor.NO_RESCALE)) {
            return "NO_RESCALE";
        }
        StringJoiner texts = new StringJoiner("; ");
        for (int i = 0; i < count; i++) {
            int[] old = descriptor.getOldSubtaskIndexes(i);
            RescaleMappings mappings = descriptor.getChannelMapping(i);
            int index = i;
            String ambiguous =
                    IntStream.range(0, 10)
                            .filter(subtask -> descriptor.isAmbiguous(index, subtask))
                            .mapToObj(Integer::toString)
                            .collect(Collectors.joining(" "));
            String channels =
                    old.length == 0
                            ? ""
                            : IntStream.range(0, 10)
                                    .mapToObj(mappings::getMappedIndexes)
                                    .map(Arrays::toString)
                                    .collect(Collectors.joining());
            texts.add(Arrays.toString(old) + " " + channels + " " + ambiguous);
        }
        return texts.toString();
    }

    /** The id of an operator counted from the head; Flink counts from the tail. */
    private static OperatorID operator(ExecutionJobVertex vertex, int number) {
        return vertex.getOperatorIDs().get(vertex.getOperatorIDs().size() - 1 - number).getGeneratedOperatorID();
    }
}
