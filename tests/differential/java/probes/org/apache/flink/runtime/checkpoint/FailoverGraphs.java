package org.apache.flink.runtime.checkpoint;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.Execution;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.executiongraph.ExecutionVertex;
import org.apache.flink.runtime.executiongraph.failover.FailoverStrategy;
import org.apache.flink.runtime.executiongraph.failover.RestartPipelinedRegionFailoverStrategy;
import org.apache.flink.runtime.io.network.partition.PartitionNotFoundException;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.jobgraph.IntermediateResultPartitionID;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;
import org.apache.flink.runtime.scheduler.strategy.SchedulingExecutionVertex;
import org.apache.flink.runtime.scheduler.strategy.SchedulingPipelinedRegion;
import org.apache.flink.util.FlinkRuntimeException;
import org.apache.flink.util.concurrent.ScheduledExecutor;

/** A real execution graph with its regions, its failover strategy and the plans of its checkpoints. */
public final class FailoverGraphs {
    private final ScriptedExecutionGraph graph;
    private final Set<IntermediateResultPartitionID> lost = new HashSet<>();

    private FailoverGraphs(String description) throws Exception {
        String[] words = description.split(";");
        graph = new ScriptedExecutionGraph(words[0], words[1]);
    }

    /** The answers to a script: its first line describes the graph, each of the others is a command. */
    public static String run(String script) throws Exception {
        String[] lines = script.split("\n");
        FailoverGraphs graphs = new FailoverGraphs(lines[0]);
        StringJoiner answers = new StringJoiner("\n");
        for (int i = 1; i < lines.length; i++) {
            answers.add(graphs.execute(lines[i].split(" ")));
        }
        return answers.toString();
    }

    private String execute(String[] words) throws Exception {
        switch (words[0]) {
            case "state":
                graph.setState(graph.vertex(words[1]), words[2]);
                return "";
            case "lost":
                lost.clear();
                for (int i = 1; i < words.length; i++) {
                    lost.add(partition(words[i]));
                }
                return "";
            case "regions":
                return regions();
            case "restore":
                return restore(words);
            case "restart":
                return restart(graph.vertex(words[1]), words.length > 2 ? words[2] : null);
            default:
                return plan(Boolean.parseBoolean(words[1]));
        }
    }

    private String regions() {
        TreeSet<String> regions = new TreeSet<>();
        for (SchedulingPipelinedRegion region : graph.graph.getSchedulingTopology().getAllPipelinedRegions()) {
            TreeSet<String> names = new TreeSet<>();
            for (SchedulingExecutionVertex vertex : region.getVertices()) {
                names.add(name(vertex.getId()));
            }
            regions.add(names.toString());
        }
        return regions.toString();
    }

    private String restart(ExecutionVertex failed, String named) {
        FailoverStrategy strategy =
                new RestartPipelinedRegionFailoverStrategy.Factory()
                        .create(graph.graph.getSchedulingTopology(), partition -> !lost.contains(partition));
        Throwable cause = new RuntimeException("scripted");
        if (named != null) {
            String[] words = named.split("\\.");
            ExecutionVertex producer = graph.vertex(words[0] + "/" + words[2]);
            cause =
                    new RuntimeException(
                            new PartitionNotFoundException(
                                    new ResultPartitionID(
                                            partition(named), producer.getCurrentExecutionAttempt().getAttemptId())));
        }
        TreeSet<String> names = new TreeSet<>();
        strategy.getTasksNeedingRestart(failed.getID(), cause).forEach(id -> names.add(name(id)));
        return names.toString();
    }

    /** Whether a snapshot can be restored in which vertices had finished, such as 0=full 1=part. */
    private String restore(String[] words) {
        Map<OperatorID, OperatorState> states = new HashMap<>();
        for (int i = 1; i < words.length; i++) {
            ExecutionJobVertex vertex = graph.jobVertex(Integer.parseInt(words[i].split("=")[0]));
            OperatorID id = vertex.getOperatorIDs().get(0).getGeneratedOperatorID();
            OperatorState state;
            if (words[i].endsWith("full")) {
                state = new FullyFinishedOperatorState("", "", id, vertex.getParallelism(), 128);
            } else {
                state = new OperatorState("", "", id, vertex.getParallelism(), 128);
                state.putState(0, FinishedOperatorSubtaskState.INSTANCE);
            }
            states.put(id, state);
        }
        Set<ExecutionJobVertex> vertices = new LinkedHashSet<>();
        graph.graph.getVerticesTopologically().forEach(vertices::add);
        try {
            new VertexFinishedStateChecker(vertices, states).validateOperatorsFinishedState();
            return "";
        } catch (FlinkRuntimeException e) {
            return e.getMessage();
        }
    }

    private String plan(boolean allowed) throws InterruptedException {
        boolean finished = false;
        for (ExecutionVertex vertex : graph.graph.getAllExecutionVertices()) {
            finished |= vertex.getExecutionState() == ExecutionState.FINISHED;
        }
        boolean hasFinishedTasks = finished;
        CheckpointPlanCalculatorContext context =
                new CheckpointPlanCalculatorContext() {
                    @Override
                    public ScheduledExecutor getMainExecutor() {
                        return new DirectMainThread();
                    }

                    @Override
                    public boolean hasFinishedTasks() {
                        return hasFinishedTasks;
                    }
                };
        DefaultCheckpointPlanCalculator calculator =
                new DefaultCheckpointPlanCalculator(
                        new JobID(), context, graph.graph.getVerticesTopologically(), allowed);
        try {
            CheckpointPlan plan = calculator.calculateCheckpointPlan().get();
            TreeSet<String> fullyFinished = new TreeSet<>();
            plan.getFullyFinishedJobVertex().forEach(vertex -> fullyFinished.add("" + graph.vertexNumber(vertex)));
            Function<Execution, String> name = execution -> graph.name(execution.getVertex());
            return String.join(
                    " ",
                    names(plan.getTasksToTrigger(), name),
                    names(plan.getTasksToWaitFor(), name),
                    names(plan.getTasksToCommitTo(), graph::name),
                    names(plan.getFinishedTasks(), name),
                    names(fullyFinished, Function.identity()));
        } catch (ExecutionException e) {
            return ((CheckpointException) e.getCause()).getCheckpointFailureReason().toString();
        }
    }

    private static <T> String names(Iterable<T> things, Function<T, String> name) {
        List<String> names = new ArrayList<>();
        things.forEach(thing -> names.add(name.apply(thing)));
        return "[" + String.join(",", names) + "]";
    }

    private IntermediateResultPartitionID partition(String name) {
        String[] words = name.split("\\.");
        return graph.jobVertex(Integer.parseInt(words[0]))
                .getProducedDataSets()[Integer.parseInt(words[1])]
                .getPartitions()[Integer.parseInt(words[2])]
                .getPartitionId();
    }

    private String name(ExecutionVertexID id) {
        for (int i = 0; i < graph.vertexCount(); i++) {
            if (graph.jobVertex(i).getJobVertexId().equals(id.getJobVertexId())) {
                return i + "/" + id.getSubtaskIndex();
            }
        }
        throw new IllegalArgumentException(id.toString());
    }
}
