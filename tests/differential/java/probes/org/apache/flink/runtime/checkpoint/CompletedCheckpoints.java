package org.apache.flink.runtime.checkpoint;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.executiongraph.Execution;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.state.CompletedCheckpointStorageLocation;
import org.apache.flink.runtime.state.SharedStateRegistry;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.util.concurrent.Executors;

/** The real CheckpointFailureManager, and the real store with its cleaner, under scripts of JSON commands. */
public final class CompletedCheckpoints {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JobID JOB = new JobID();

    private CompletedCheckpoints() {}

    /** {@code [{"tolerable": n}, command, ...]}; answers the calls that each command caused. */
    public static String runFailures(String text) throws Exception {
        JsonNode script = JSON.readTree(text);
        List<List<String>> seen = new ArrayList<>();
        CheckpointFailureManager manager =
                new CheckpointFailureManager(
                        script.get(0).get("tolerable").asInt(),
                        new CheckpointFailureManager.FailJobCallback() {
                            @Override
                            public void failJob(Throwable cause) {
                                seen.add(List.of("fail_job", cause.getClass().getSimpleName()));
                            }

                            @Override
                            public void failJobDueToTaskFailure(Throwable cause, ExecutionAttemptID task) {
                                seen.add(List.of("fail_job_due_to_task", cause.getClass().getSimpleName()));
                            }
                        });
        CheckpointStatsTracker statistics = NoOpCheckpointStatsTracker.INSTANCE;
        Execution task = new ScriptedExecutionGraph("1", "-").vertex("0/0").getCurrentExecutionAttempt();
        List<Object> answers = new ArrayList<>();
        for (int i = 1; i < script.size(); i++) {
            JsonNode c = script.get(i);
            seen.clear();
            if (c.get(0).asText().equals("success")) {
                manager.handleCheckpointSuccess(c.get(1).asLong());
            } else {
                CheckpointProperties properties = properties(c.get(2).asText(), "NEVER_RETAIN_AFTER_TERMINATION");
                manager.handleCheckpointException(
                        c.get(1).isNull() ? null : pending(c.get(1).asLong(), properties, task),
                        properties,
                        new CheckpointException(CheckpointFailureReason.valueOf(c.get(3).asText())),
                        c.get(4).asText().equals("task") ? task.getAttemptId() : null,
                        JOB,
                        null,
                        statistics);
            }
            answers.add(List.copyOf(seen));
        }
        return JSON.writeValueAsString(answers);
    }

    /** {@code [{"retain": n, "policy": name}, command, ...]}. */
    public static String runStore(String text) throws Exception {
        JsonNode script = JSON.readTree(text);
        String policy = script.get(0).get("policy").asText();
        StandaloneCompletedCheckpointStore store =
                new StandaloneCompletedCheckpointStore(
                        script.get(0).get("retain").asInt(),
                        SharedStateRegistry.DEFAULT_FACTORY,
                        Executors.directExecutor(),
                        RecoveryClaimMode.NO_CLAIM);
        CheckpointsCleaner cleaner = new CheckpointsCleaner(false);
        List<Long> discarded = new ArrayList<>();
        List<Object> answers = new ArrayList<>();
        for (int i = 1; i < script.size(); i++) {
            JsonNode c = script.get(i);
            discarded.clear();
            Map<String, Object> answer = new TreeMap<>();
            if (c.get(0).asText().equals("add")) {
                CompletedCheckpoint subsumed =
                        store.addCheckpointAndSubsumeOldestOne(
                                completed(c.get(1).asLong(), properties(c.get(2).asText(), policy), discarded),
                                cleaner,
                                () -> {});
                answer.put("subsumed", subsumed == null ? null : subsumed.getCheckpointID());
                answer.put("latest", store.getLatestCheckpointId());
                answer.put(
                        "retained",
                        store.getAllCheckpoints().stream()
                                .map(CompletedCheckpoint::getCheckpointID)
                                .collect(Collectors.toList()));
            } else {
                store.shutdown(JobStatus.valueOf(c.get(1).asText()), cleaner);
                Collections.sort(discarded);
            }
            answer.put("discarded", List.copyOf(discarded));
            answers.add(answer);
        }
        return JSON.writeValueAsString(answers);
    }

    private static CheckpointProperties properties(String kind, String policy) {
        switch (kind) {
            case "checkpoint":
                return CheckpointProperties.forCheckpoint(CheckpointRetentionPolicy.valueOf(policy));
            case "savepoint":
                return CheckpointProperties.forSavepoint(true, SavepointFormatType.CANONICAL);
            default:
                return CheckpointProperties.forSyncSavepoint(true, false, SavepointFormatType.CANONICAL);
        }
    }

    private static PendingCheckpoint pending(long id, CheckpointProperties properties, Execution task) {
        List<Execution> tasks = List.of(task);
        CheckpointPlan plan = new DefaultCheckpointPlan(tasks, tasks, List.of(), List.of(), List.of(), true);
        return new PendingCheckpoint(
                JOB, id, 0, plan, List.of(), List.of(), properties, new CompletableFuture<>(), null, new CompletableFuture<>());
    }

    private static CompletedCheckpoint completed(long id, CheckpointProperties properties, List<Long> discarded) {
        CompletedCheckpointStorageLocation location =
                new CompletedCheckpointStorageLocation() {
                    @Override
                    public String getExternalPointer() {
                        return "chk-" + id;
                    }

                    @Override
                    public StreamStateHandle getMetadataHandle() {
                        return new ByteStreamStateHandle("metadata", new byte[] {1});
                    }

                    @Override
                    public void disposeStorageLocation() {
                        discarded.add(id);
                    }
                };
        return new CompletedCheckpoint(JOB, id, 0, 1, new HashMap<>(), List.of(), properties, location, null);
    }
}
