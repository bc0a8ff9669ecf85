package flowsim.jobs;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** The embedded Flinks for all jobs of a test run: one task manager, or several; each started with its first job. */
public final class Cluster {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LONGEST_SECONDS = 60;
    private static MiniCluster single;
    private static MiniCluster spread;

    private Cluster() {}

    /**
     * Runs the job of the class {@code flowsim.jobs.<name>}; answers {@code {"log": {task: [event]}, "error": cause, "task":
     * name}} and what the job adds. The error is the simple name and message of the innermost cause, or null, and then
     * there is no name of the task that failed.
     */
    public static synchronized String run(String name, String parameters) throws Exception {
        JsonNode given = JSON.readTree(parameters);
        Job job = (Job) Class.forName("flowsim.jobs." + name).getDeclaredConstructor().newInstance();
        Log.clear();
        String error = null;
        Map<String, Object> result = new LinkedHashMap<>();
        try {
            error = run(job, given, result);
        } catch (Throwable e) {
            error = innermost(e);
        }
        result.put("log", Log.all());
        result.put("error", error);
        job.report(result);
        return JSON.writeValueAsString(result);
    }

    private static String run(Job job, JsonNode given, Map<String, Object> answer) throws Exception {
        Network network = job.network(given);
        MiniCluster cluster = cluster(network != null && network.spread);
        (network == null ? Network.DEFAULT : network).apply(cluster);
        Configuration settings = new Configuration();
        settings.setString("execution.buffer-timeout.interval", "0 ms");
        settings.setString("restart-strategy.type", "none");
        job.configure(settings, given);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        env.setParallelism(1);
        job.build(env, given);
        JobGraph graph = env.getStreamGraph().getJobGraph();
        cluster.submitJob(graph).get(LONGEST_SECONDS, TimeUnit.SECONDS);
        try {
            job.drive(cluster, graph.getJobID(), given);
            JobResult result =
                    cluster.requestJobResult(graph.getJobID()).get(LONGEST_SECONDS, TimeUnit.SECONDS);
            failedTask(cluster.getExecutionGraph(graph.getJobID()).get(LONGEST_SECONDS, TimeUnit.SECONDS))
                    .ifPresent(task -> answer.put("task", task));
            return result.getSerializedThrowable()
                    .map(e -> innermost(e.deserializeError(Cluster.class.getClassLoader())))
                    .orElse(null);
        } catch (TimeoutException e) {
            cluster.cancelJob(graph.getJobID());
            return "TimeoutException: not over after " + LONGEST_SECONDS + " s";
        }
    }

    /** The name of the task that failed first; mostly the others are cancelled. */
    private static Optional<String> failedTask(AccessExecutionGraph graph) {
        AccessExecutionVertex first = null;
        for (AccessExecutionVertex vertex : graph.getAllExecutionVertices()) {
            if (vertex.getExecutionState() == ExecutionState.FAILED
                    && (first == null || failedAt(vertex) < failedAt(first))) {
                first = vertex;
            }
        }
        return Optional.ofNullable(first).map(AccessExecutionVertex::getTaskNameWithSubtaskIndex);
    }

    private static long failedAt(AccessExecutionVertex vertex) {
        return vertex.getStateTimestamp(ExecutionState.FAILED);
    }

    private static MiniCluster cluster(boolean isSpread) throws Exception {
        if (isSpread) {
            spread = spread == null ? start(4, 2, "32kb") : spread;
            return spread;
        }
        single = single == null ? start(1, 16, "4kb") : single;
        return single;
    }

    private static MiniCluster start(int taskManagers, int slots, String segmentSize) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("taskmanager.load-balance.mode", "SLOTS");
        settings.setString("taskmanager.memory.network.min", "32mb");
        settings.setString("taskmanager.memory.network.max", "32mb");
        settings.setString("taskmanager.memory.managed.size", "16mb");
        settings.setString("taskmanager.memory.segment-size", segmentSize);
        settings.setString("rest.bind-port", "0");
        MiniCluster started =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setNumTaskManagers(taskManagers)
                                .setNumSlotsPerTaskManager(slots)
                                .setConfiguration(settings)
                                .withRandomPorts()
                                .build());
        started.start();
        return started;
    }

    private static String innermost(Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause.getClass().getSimpleName() + ": " + cause.getMessage();
    }
}
