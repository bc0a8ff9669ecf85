package org.apache.flink.runtime.checkpoint;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.OperatorIDPair;
import org.apache.flink.runtime.blob.BlobWriter;
import org.apache.flink.runtime.deployment.TaskDeploymentDescriptorFactory.PartitionLocationConstraint;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.DefaultExecutionGraph;
import org.apache.flink.runtime.executiongraph.DefaultExecutionGraphBuilder;
import org.apache.flink.runtime.executiongraph.DefaultVertexAttemptNumberStore;
import org.apache.flink.runtime.executiongraph.Execution;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.executiongraph.ExecutionDeploymentListener;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.executiongraph.ExecutionVertex;
import org.apache.flink.runtime.io.network.api.writer.SubtaskStateMapper;
import org.apache.flink.runtime.io.network.partition.JobMasterPartitionTracker;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.jobgraph.DistributionPattern;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.jobgraph.JobEdge;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobType;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.jobmanager.slots.TaskManagerGateway;
import org.apache.flink.runtime.jobmaster.LogicalSlot;
import org.apache.flink.runtime.messages.Acknowledge;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.runtime.scheduler.SchedulerBase;
import org.apache.flink.runtime.scheduler.adaptivebatch.NonAdaptiveExecutionPlanSchedulingContext;
import org.apache.flink.runtime.shuffle.ShuffleMaster;
import org.apache.flink.streaming.runtime.tasks.OneInputStreamTask;

/** A real ExecutionGraph of vertices without operators, whose states are set and whose calls to tasks are recorded. */
public final class ScriptedExecutionGraph {
    public final DefaultExecutionGraph graph;
    private final List<JobVertex> vertices = new ArrayList<>();

    /**
     * Parallelism "2,1"; edges "0 1 POINTWISE BLOCKING", separated by commas, or "-". An edge may also name its upstream
     * and its downstream SubtaskStateMapper; a parallelism may be followed by a number of operators, "2:3".
     */
    public ScriptedExecutionGraph(String parallelism, String edges) throws Exception {
        for (String p : parallelism.split(",")) {
            String[] numbers = p.split(":");
            JobVertex vertex = vertex(numbers.length == 1 ? 1 : Integer.parseInt(numbers[1]));
            vertex.setParallelism(Integer.parseInt(numbers[0]));
            vertex.setMaxParallelism(128);
            vertex.setInvokableClass(OneInputStreamTask.class);
            vertices.add(vertex);
        }
        for (String edge : edges.equals("-") ? new String[0] : edges.split(",")) {
            String[] words = edge.trim().split(" ");
            JobEdge connected =
                    vertices.get(Integer.parseInt(words[1]))
                            .connectNewDataSetAsInput(
                                    vertices.get(Integer.parseInt(words[0])),
                                    DistributionPattern.valueOf(words[2]),
                                    ResultPartitionType.valueOf(words[3]),
                                    new IntermediateDataSetID(),
                                    false,
                                    false);
            if (words.length > 4) {
                connected.setUpstreamSubtaskStateMapper(SubtaskStateMapper.valueOf(words[4]));
                connected.setDownstreamSubtaskStateMapper(SubtaskStateMapper.valueOf(words[5]));
            }
        }
        JobGraph job = new JobGraph(new JobID(), "scripted");
        vertices.forEach(job::addVertex);
        job.setJobType(JobType.STREAMING);
        ScheduledExecutorService unused = Executors.newScheduledThreadPool(0);
        graph =
                DefaultExecutionGraphBuilder.buildGraph(
                        job,
                        new Configuration(),
                        unused,
                        unused,
                        ScriptedExecutionGraph.class.getClassLoader(),
                        new StandaloneCompletedCheckpointStore(1),
                        new CheckpointsCleaner(),
                        new StandaloneCheckpointIDCounter(),
                        Duration.ofSeconds(10),
                        stub(BlobWriter.class),
                        org.slf4j.LoggerFactory.getLogger("scripted"),
                        stub(ShuffleMaster.class),
                        stub(JobMasterPartitionTracker.class),
                        PartitionLocationConstraint.fromJobType(JobType.STREAMING),
                        stub(ExecutionDeploymentListener.class),
                        (execution, before, after) -> {},
                        0L,
                        new DefaultVertexAttemptNumberStore(),
                        SchedulerBase.computeVertexParallelismStore(job),
                        stub(CheckpointStatsTracker.class),
                        false,
                        new ExecutionJobVertex.Factory(),
                        type -> false,
                        false,
                        UnregisteredMetricGroups.createUnregisteredJobManagerJobMetricGroup(),
                        NonAdaptiveExecutionPlanSchedulingContext.INSTANCE);
        graph.start(new DirectMainThread());
    }

    private JobVertex vertex(int operators) {
        List<OperatorIDPair> ids = new ArrayList<>();
        for (int i = 0; i < operators; i++) {
            ids.add(OperatorIDPair.generatedIDOnly(new OperatorID(vertices.size(), i)));
        }
        return new JobVertex("v" + vertices.size(), new JobVertexID(), ids);
    }

    public ExecutionVertex vertex(String name) {
        String[] words = name.split("/");
        ExecutionJobVertex vertex = graph.getJobVertex(vertices.get(Integer.parseInt(words[0])).getID());
        return vertex.getTaskVertices()[Integer.parseInt(words[1])];
    }

    public int vertexNumber(ExecutionJobVertex vertex) {
        return vertices.indexOf(vertex.getJobVertex());
    }

    public ExecutionJobVertex jobVertex(int number) {
        return graph.getJobVertex(vertices.get(number).getID());
    }

    public int vertexCount() {
        return vertices.size();
    }

    public String name(ExecutionVertex vertex) {
        return vertexNumber(vertex.getJobVertex()) + "/" + vertex.getParallelSubtaskIndex();
    }

    public String name(ExecutionAttemptID attempt) {
        for (ExecutionVertex vertex : graph.getAllExecutionVertices()) {
            if (vertex.getCurrentExecutionAttempt().getAttemptId().equals(attempt)) {
                return name(vertex);
            }
        }
        throw new IllegalArgumentException(attempt.toString());
    }

    public void setState(ExecutionVertex vertex, String state) throws Exception {
        set(vertex.getCurrentExecutionAttempt(), "state", ExecutionState.valueOf(state));
    }

    /** All tasks run, and what they are called with is recorded. */
    public void deploy(Consumer<String> recorder) throws Exception {
        for (ExecutionVertex vertex : graph.getAllExecutionVertices()) {
            setState(vertex, "RUNNING");
            TaskManagerGateway gateway = proxy(TaskManagerGateway.class, recordedCalls(name(vertex), recorder));
            LogicalSlot slot =
                    proxy(
                            LogicalSlot.class,
                            (proxy, method, arguments) ->
                                    method.getName().equals("getTaskManagerGateway") ? gateway : nothing(method));
            set(vertex.getCurrentExecutionAttempt(), "assignedResource", slot);
        }
    }

    private static InvocationHandler recordedCalls(String task, Consumer<String> recorder) {
        return (proxy, method, a) -> {
            switch (method.getName()) {
                case "triggerCheckpoint":
                    CheckpointOptions options = (CheckpointOptions) a[4];
                    String type = options.getAlignment() + " " + options.getCheckpointType().getName();
                    recorder.accept("rpc_trigger " + task + " " + a[2] + " " + type);
                    return CompletableFuture.completedFuture(Acknowledge.get());
                case "notifyCheckpointOnComplete":
                    recorder.accept("notify_complete " + task + " " + a[2] + " " + a[4]);
                    return null;
                case "notifyCheckpointAborted":
                    recorder.accept("notify_aborted " + task + " " + a[2] + " " + a[3]);
                    return null;
                default:
                    return nothing(method);
            }
        };
    }

    /** An object whose methods return true, the greatest int, 0 or null. */
    public static <T> T stub(Class<T> type) {
        return proxy(type, (proxy, method, arguments) -> nothing(method));
    }

    @SuppressWarnings("unchecked")
    public static <T> T proxy(Class<T> type, InvocationHandler handler) {
        InvocationHandler all =
                (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "hashCode":
                            return System.identityHashCode(proxy);
                        case "equals":
                            return proxy == arguments[0];
                        case "toString":
                            return type.getSimpleName();
                        default:
                            return handler.invoke(proxy, method, arguments);
                    }
                };
        return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, all);
    }

    private static Object nothing(Method method) {
        Class<?> type = method.getReturnType();
        if (type == boolean.class) {
            return true;
        }
        if (type == int.class) {
            return Integer.MAX_VALUE;
        }
        return type == long.class ? (Object) 0L : null;
    }

    private static void set(Execution execution, String name, Object value) throws Exception {
        Field field = Execution.class.getDeclaredField(name);
        field.setAccessible(true);
        field.set(execution, value);
    }
}
