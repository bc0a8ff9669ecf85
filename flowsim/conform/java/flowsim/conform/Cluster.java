package flowsim.conform;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.AbstractCheckpointStats;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.TimeUtils;

/** The embedded Flink on which plans run; it listens on loopback only. */
public final class Cluster {
    private static final int LONGEST_SECONDS = 60;
    private static final String LOOPBACK = "127.0.0.1";
    private static MiniCluster cluster;
    private static JsonNode clusterSettings;
    private static int slots;

    private Cluster() {}

    /**
     * Runs a plan; answers {@code {"seen": {node/subtask: [event]}, "status": ..., "failure": {"task": ..., "cause": ...}, "snapshot":
     * path}}.
     */
    public static synchronized String run(String text) throws Exception {
        try {
            return ran(text);
        } finally {
            Bridge.forgetJob();
        }
    }

    private static String ran(String text) throws Exception {
        JsonNode plan = Script.parsed(text);
        Seen.clear();
        ManualTime.reset();
        PlayedFunction.reset();
        Script.reset();
        Pauses.set(plan.get("run").get("pauses"));
        Failures.set(plan.get("run").get("failures"));
        Configuration settings = new Configuration();
        plan.get("run").get("configuration").fields().forEachRemaining(each -> settings.setString(each.getKey(), each.getValue().asText()));
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        new Interpreter(env, plan).build();
        JobGraph graph = env.getStreamGraph().getJobGraph();
        if (plan.get("run").hasNonNull("savepoint")) {
            graph.setSavepointRestoreSettings(
                    SavepointRestoreSettings.forPath(plan.get("run").get("savepoint").asText(), false));
        }
        List<JobVertexID> upstreamFirst = new ArrayList<>();
        int subtasks = 0;
        int needed = 0;
        for (JobVertex vertex : graph.getVerticesSortedTopologicallyFromSources()) {
            upstreamFirst.add(vertex.getID());
            subtasks += vertex.getParallelism();
            needed += vertex.getParallelism();
        }
        MiniCluster running = cluster(plan.get("run").get("cluster"), needed);
        NetworkBuffers.set(running, plan.get("run").get("buffers"));
        running.submitJob(graph).get(LONGEST_SECONDS, TimeUnit.SECONDS);
        Map<String, Object> answer = new LinkedHashMap<>();
        Map<JobVertexID, Integer> heads = heads(graph, plan);
        Seen.setHeads(heads.values());
        Alignments.set(TimeUtils.parseDuration(
                        settings.getString("execution.checkpointing.aligned-checkpoint-timeout", "0 ms"))
                .toMillis());
        boolean takesLast =
                settings.containsKey("execution.checkpointing.interval")
                        && settings.getString("execution.checkpointing.checkpoints-after-tasks-finish", "true")
                                .equals("true");
        Conductor conductor =
                new Conductor(
                        running,
                        graph.getJobID(),
                        upstreamFirst,
                        subtasks,
                        heads,
                        sources(plan),
                        takesLast,
                        settings.getString("execution.checkpointing.dir", ""));
        boolean isOver;
        try {
            JsonNode run = plan.get("run");
            conductor.conduct(run.get("actions"), run.get("until_ns").asLong(), run.get("ends").asBoolean());
            isOver = conductor.isOver();
        } catch (Exception e) {
            try {
                cancel(running, graph.getJobID()); // the next job must not hear of this one
            } catch (Exception goesOn) {
                e.addSuppressed(goesOn);
                close(); // its threads are left behind
            }
            throw e;
        }
        if (!isOver) {
            cancel(running, graph.getJobID());
        }
        JobResult result = running.requestJobResult(graph.getJobID()).get(LONGEST_SECONDS, TimeUnit.SECONDS);
        answer.put("status", isOver ? String.valueOf(result.getJobStatus().orElse(null)) : "RUNNING");
        AccessExecutionGraph ended = running.getExecutionGraph(graph.getJobID()).get(LONGEST_SECONDS, TimeUnit.SECONDS);
        if (isOver && result.getSerializedThrowable().isPresent()) {
            Throwable error = result.getSerializedThrowable().get().deserializeError(Cluster.class.getClassLoader());
            answer.put("cause", innermost(error));
            answer.put("task", failedTask(ended));
        }
        answer.put("snapshot", conductor.snapshot());
        answer.put("checkpoints", checkpoints(ended));
        answer.put("seen", Seen.events());
        return Script.JSON.writeValueAsString(answer);
    }

    private static int sources(JsonNode plan) {
        int count = 0;
        for (JsonNode node : plan.get("nodes")) {
            boolean isSource = node.get("operator").get("kind").asText().equals("source");
            count += isSource ? node.get("parallelism").asInt() : 0;
        }
        return count;
    }

    /** The node at the head of each chain, which has its name at the beginning; not of a committer, which is no node. */
    private static Map<JobVertexID, Integer> heads(JobGraph graph, JsonNode plan) {
        Map<JobVertexID, Integer> heads = new HashMap<>();
        for (JobVertex vertex : graph.getVertices()) {
            int longest = -1;
            for (JsonNode node : plan.get("nodes")) {
                String name = node.get("name").asText();
                boolean isHead = vertex.getName().equals(name) || vertex.getName().startsWith(name + " -> ");
                if (isHead && name.length() > longest) {
                    longest = name.length();
                    heads.put(vertex.getID(), node.get("id").asInt());
                }
            }
        }
        return heads;
    }

    /** {@code id type status} of every checkpoint and savepoint, by id. */
    private static List<String> checkpoints(AccessExecutionGraph graph) {
        List<String> found = new ArrayList<>();
        if (graph.getCheckpointStatsSnapshot() != null) {
            for (AbstractCheckpointStats each : graph.getCheckpointStatsSnapshot().getHistory().getCheckpoints()) {
                String kind = each.getProperties().getCheckpointType().getName();
                found.add(each.getCheckpointId() + "\t" + kind + "\t" + each.getStatus());
            }
        }
        Collections.reverse(found);
        return found;
    }

    private static void cancel(MiniCluster running, JobID job) throws Exception {
        try {
            running.cancelJob(job).get(LONGEST_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException isOver) {
            // It ended by itself.
        }
        running.requestJobResult(job).get(LONGEST_SECONDS, TimeUnit.SECONDS);
    }

    /** The task that failed first; mostly the others are cancelled. */
    private static String failedTask(AccessExecutionGraph graph) {
        AccessExecutionVertex first = null;
        for (AccessExecutionVertex vertex : graph.getAllExecutionVertices()) {
            if (vertex.getExecutionState() == ExecutionState.FAILED
                    && (first == null || failedAt(vertex) < failedAt(first))) {
                first = vertex;
            }
        }
        return first == null ? null : first.getTaskNameWithSubtaskIndex();
    }

    private static long failedAt(AccessExecutionVertex vertex) {
        return vertex.getStateTimestamp(ExecutionState.FAILED);
    }

    private static MiniCluster cluster(JsonNode given, int needed) throws Exception {
        if (cluster == null || slots < needed || !given.equals(clusterSettings)) {
            if (cluster != null) {
                cluster.close();
            }
            slots = Math.max(16, needed);
            clusterSettings = given;
            cluster = start(given, slots);
        }
        return cluster;
    }

    private static MiniCluster start(JsonNode given, int count) throws Exception {
        int taskManagers = given.get("task_managers").asInt();
        Configuration settings = new Configuration();
        settings.setString("taskmanager.memory.network.min", "64mb");
        settings.setString("taskmanager.memory.network.max", "64mb");
        settings.setString("taskmanager.memory.managed.size", "16mb");
        settings.setString("taskmanager.memory.segment-size", "4kb");
        settings.setString("web.checkpoints.history", "1000");
        settings.setString("rest.bind-port", "0");
        for (String bound : List.of("rest.bind-address", "jobmanager.bind-host", "taskmanager.bind-host")) {
            settings.setString(bound, LOOPBACK);
        }
        given.get("configuration").fields().forEachRemaining(each -> settings.setString(each.getKey(), each.getValue().asText()));
        MiniCluster started =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setNumTaskManagers(taskManagers)
                                .setNumSlotsPerTaskManager((count + taskManagers - 1) / taskManagers)
                                .setConfiguration(settings)
                                .setCommonBindAddress(LOOPBACK)
                                .withRandomPorts()
                                .build());
        started.start();
        return started;
    }

    /** Ends the embedded Flink. */
    public static synchronized void close() throws Exception {
        if (cluster != null) {
            cluster.close();
            cluster = null;
        }
    }

    static String innermost(Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause instanceof PythonError
                ? cause.getMessage()
                : cause.getClass().getSimpleName() + ": " + cause.getMessage();
    }
}
