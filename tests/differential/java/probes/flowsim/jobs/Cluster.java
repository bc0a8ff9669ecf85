package flowsim.jobs;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** The embedded Flink for all jobs of a test run, started with the first one. */
public final class Cluster {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LONGEST_SECONDS = 60;
    private static MiniCluster cluster;

    private Cluster() {}

    /**
     * Runs the job of the class {@code flowsim.jobs.<name>}; answers {@code {"log": {task: [event]}, "error": cause}}.
     * The error is the simple name and message of the innermost cause, or null.
     */
    public static synchronized String run(String name, String parameters) throws Exception {
        JsonNode given = JSON.readTree(parameters);
        Job job = (Job) Class.forName("flowsim.jobs." + name).getDeclaredConstructor().newInstance();
        Log.clear();
        String error = null;
        Map<String, Object> result = new LinkedHashMap<>();
        try {
            error = run(job, given);
        } catch (Throwable e) {
            error = innermost(e);
        }
        result.put("log", Log.all());
        result.put("error", error);
        return JSON.writeValueAsString(result);
    }

    private static String run(Job job, JsonNode given) throws Exception {
        MiniCluster cluster = cluster();
        Configuration settings = new Configuration();
        settings.setString("execution.buffer-timeout.interval", "0 ms");
        settings.setString("restart-strategy.type", "none");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        env.setParallelism(1);
        job.build(env, given);
        JobGraph graph = env.getStreamGraph().getJobGraph();
        cluster.submitJob(graph).get(LONGEST_SECONDS, TimeUnit.SECONDS);
        try {
            job.drive(cluster, graph.getJobID(), given);
            JobResult result =
                    cluster.requestJobResult(graph.getJobID()).get(LONGEST_SECONDS, TimeUnit.SECONDS);
            return result.getSerializedThrowable()
                    .map(e -> innermost(e.deserializeError(Cluster.class.getClassLoader())))
                    .orElse(null);
        } catch (TimeoutException e) {
            cluster.cancelJob(graph.getJobID());
            return "TimeoutException: not over after " + LONGEST_SECONDS + " s";
        }
    }

    private static MiniCluster cluster() throws Exception {
        if (cluster != null) {
            return cluster;
        }
        Configuration settings = new Configuration();
        settings.setString("taskmanager.memory.network.min", "32mb");
        settings.setString("taskmanager.memory.network.max", "32mb");
        settings.setString("taskmanager.memory.managed.size", "16mb");
        settings.setString("taskmanager.memory.segment-size", "4kb");
        settings.setString("rest.bind-port", "0");
        cluster =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setNumTaskManagers(1)
                                .setNumSlotsPerTaskManager(16)
                                .setConfiguration(settings)
                                .withRandomPorts()
                                .build());
        cluster.start();
        return cluster;
    }

    private static String innermost(Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause.getClass().getSimpleName() + ": " + cause.getMessage();
    }
}
