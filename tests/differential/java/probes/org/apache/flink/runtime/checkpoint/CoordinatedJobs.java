package org.apache.flink.runtime.checkpoint;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.jobgraph.tasks.CheckpointCoordinatorConfiguration;
import org.apache.flink.runtime.messages.checkpoint.AcknowledgeCheckpoint;
import org.apache.flink.runtime.messages.checkpoint.DeclineCheckpoint;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.runtime.state.OperatorStateHandle;
import org.apache.flink.runtime.state.OperatorStreamStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.runtime.state.storage.JobManagerCheckpointStorage;
import org.apache.flink.util.FileUtils;
import org.apache.flink.util.clock.ManualClock;
import org.apache.flink.util.concurrent.ScheduledExecutor;

/** The real CheckpointCoordinator in virtual time; its tasks and operator coordinators are scripted. */
public final class CoordinatedJobs {
    private static final long START = 1_000_000;
    private static final String SAVEPOINTS = savepoints();

    private final List<String> events = new ArrayList<>();
    private final JobID job = new JobID();
    private final ManualClock clock = new ManualClock(TimeUnit.MILLISECONDS.toNanos(START));
    private final VirtualTimeExecutor executor = new VirtualTimeExecutor(clock);
    private final ScriptedExecutionGraph graph;
    private final CheckpointCoordinator coordinator;
    private final List<ScriptedCoordinator> coordinators = new ArrayList<>();
    private final DefaultCheckpointStatsTracker statistics =
            new DefaultCheckpointStatsTracker(
                    10, UnregisteredMetricGroups.createUnregisteredJobManagerJobMetricGroup());
    private boolean hasFinishedTasks;
    private int requests;
    private long lastTurnMillis;

    /** The answers to a script: its first line describes the job, each of the others is a command. */
    public static String run(String script) throws Exception {
        String[] lines = script.split("\n");
        CoordinatedJobs jobs = new CoordinatedJobs(lines[0].split(" "));
        StringJoiner answers = new StringJoiner("\n");
        for (int i = 1; i < lines.length; i++) {
            answers.add(jobs.answer(lines[i].split(" ")));
        }
        return answers.toString();
    }

    /** Parallelism, interval, timeout, pause, concurrent, tolerable, retained, unaligned, its timeout, coordinators, backlog. */
    private CoordinatedJobs(String[] words) throws Exception {
        graph = new ScriptedExecutionGraph(words[0], words[0].contains(",") ? "0 1 ALL_TO_ALL PIPELINED_BOUNDED" : "-");
        graph.deploy(events::add);
        for (int i = 0; i < Integer.parseInt(words[9]); i++) {
            coordinators.add(new ScriptedCoordinator(i));
        }
        CheckpointCoordinatorConfiguration configuration =
                new CheckpointCoordinatorConfiguration.CheckpointCoordinatorConfigurationBuilder()
                        .setCheckpointInterval(Long.parseLong(words[1]))
                        .setCheckpointIntervalDuringBacklog(Long.parseLong(words[10]))
                        .setCheckpointTimeout(Long.parseLong(words[2]))
                        .setMinPauseBetweenCheckpoints(Long.parseLong(words[3]))
                        .setMaxConcurrentCheckpoints(Integer.parseInt(words[4]))
                        .setTolerableCheckpointFailureNumber(Integer.parseInt(words[5]))
                        .setUnalignedCheckpointsEnabled(Boolean.parseBoolean(words[7]))
                        .setAlignedCheckpointTimeout(Long.parseLong(words[8]))
                        .setExactlyOnce(true)
                        .setCheckpointRetentionPolicy(CheckpointRetentionPolicy.NEVER_RETAIN_AFTER_TERMINATION)
                        .build();
        coordinator =
                new CheckpointCoordinator(
                        job,
                        configuration,
                        Collections.unmodifiableList(coordinators),
                        new StandaloneCheckpointIDCounter(),
                        new StandaloneCompletedCheckpointStore(Integer.parseInt(words[6])),
                        new JobManagerCheckpointStorage(),
                        executor,
                        new CheckpointsCleaner(false),
                        executor,
                        new CheckpointFailureManager(Integer.parseInt(words[5]), new RecordedFailures()),
                        new DefaultCheckpointPlanCalculator(
                                job, new Context(), graph.graph.getVerticesTopologically(), true),
                        clock,
                        statistics,
                        VertexFinishedStateChecker::new);
        Field delay = CheckpointCoordinator.class.getDeclaredField("triggerDelay");
        delay.setAccessible(true);
        delay.set(coordinator, Long.parseLong(words[3])); // in place of the random one
    }

    private String answer(String[] words) throws Exception {
        events.clear();
        String error = "";
        try {
            execute(words);
            executor.runUntil(clock.relativeTimeMillis());
            lastTurnMillis = System.currentTimeMillis();
        } catch (Exception e) {
            error = " !" + e.getClass().getSimpleName();
        }
        return String.join("; ", events) + " | " + state() + error;
    }

    private String state() throws Exception {
        StringJoiner retained = new StringJoiner(",");
        for (CompletedCheckpoint checkpoint : coordinator.getCheckpointStore().getAllCheckpoints()) {
            retained.add("" + checkpoint.getCheckpointID());
        }
        CheckpointStatsCounts counts = statistics.createSnapshot().getCounts();
        return String.format(
                "%d pending %s retained [%s] queued %d in progress %d completed %d failed %d",
                clock.relativeTimeMillis() - START,
                new TreeSet<>(coordinator.getPendingCheckpoints().keySet()),
                retained,
                coordinator.getNumQueuedRequests(),
                counts.getNumberOfInProgressCheckpoints(),
                counts.getNumberOfCompletedCheckpoints(),
                counts.getNumberOfFailedCheckpoints());
    }

    private void execute(String[] words) throws Exception {
        switch (words[0]) {
            case "start":
                coordinator.startCheckpointScheduler();
                break;
            case "stop_scheduler":
                coordinator.stopCheckpointScheduler();
                break;
            case "shutdown":
                coordinator.shutdown();
                break;
            case "trigger":
                trigger(words[1]);
                break;
            case "ack":
                AcknowledgeCheckpoint message =
                        new AcknowledgeCheckpoint(
                                job, attempt(words[1]), Long.parseLong(words[2]), new CheckpointMetrics(), state(words[1], words[3]));
                events.add("ack_known " + coordinator.receiveAcknowledgeMessage(message, "here"));
                break;
            case "decline":
                CheckpointException exception = new CheckpointException(CheckpointFailureReason.valueOf(words[3]));
                coordinator.receiveDeclineMessage(
                        new DeclineCheckpoint(job, attempt(words[1]), Long.parseLong(words[2]), exception), "here");
                break;
            case "finish":
                graph.setState(graph.vertex(words[1]), "FINISHED");
                hasFinishedTasks = true;
                break;
            case "failover":
                coordinator.abortPendingCheckpoints(
                        new CheckpointException(CheckpointFailureReason.JOB_FAILOVER_REGION));
                break;
            case "coordinator":
                coordinators.get(Integer.parseInt(words[1])).deliver(words[2]);
                break;
            case "backlog":
                coordinator.setIsProcessingBacklog(new OperatorID(0, 0), Boolean.parseBoolean(words[1]));
                break;
            default:
                executor.runUntil(clock.relativeTimeMillis() + Long.parseLong(words[1]));
        }
    }

    /** The state of a task: none, plain, union, finished, union_finished or restored (as finished). */
    private TaskStateSnapshot state(String task, String kind) {
        if (kind.equals("none")) {
            return null;
        }
        if (kind.equals("restored")) {
            return TaskStateSnapshot.FINISHED_ON_RESTORE;
        }
        TaskStateSnapshot snapshot = new TaskStateSnapshot(1, kind.endsWith("finished"));
        OperatorStateHandle.Mode mode =
                kind.startsWith("union") ? OperatorStateHandle.Mode.UNION : OperatorStateHandle.Mode.SPLIT_DISTRIBUTE;
        OperatorStreamStateHandle handle =
                new OperatorStreamStateHandle(
                        Map.of("list", new OperatorStateHandle.StateMetaInfo(new long[] {0}, mode)),
                        new ByteStreamStateHandle("state", new byte[1]));
        snapshot.putSubtaskStateByOperatorID(
                graph.vertex(task).getJobVertex().getOperatorIDs().get(0).getGeneratedOperatorID(),
                OperatorSubtaskState.builder().setManagedOperatorState(handle).build());
        return snapshot;
    }

    private ExecutionAttemptID attempt(String task) {
        return graph.vertex(task).getCurrentExecutionAttempt().getAttemptId();
    }

    private void trigger(String kind) throws Exception {
        // Requests of the same millisecond would be in the order of their identity hash codes.
        while (System.currentTimeMillis() <= lastTurnMillis) {
            Thread.sleep(1);
        }
        int request = requests++;
        CompletableFuture<CompletedCheckpoint> completion;
        if (kind.equals("checkpoint")) {
            completion = coordinator.triggerCheckpoint(false);
        } else if (kind.equals("savepoint")) {
            completion = coordinator.triggerSavepoint(SAVEPOINTS, SavepointFormatType.CANONICAL);
        } else {
            completion =
                    coordinator.triggerSynchronousSavepoint(
                            kind.equals("drain"), SAVEPOINTS, SavepointFormatType.CANONICAL);
        }
        completion.whenComplete(
                (checkpoint, error) ->
                        events.add(
                                "request " + request
                                        + (error == null
                                                ? " completed " + checkpoint.getCheckpointID()
                                                : " failed " + reason(error))));
    }

    private static String reason(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof CheckpointException) {
                return ((CheckpointException) cause).getCheckpointFailureReason().toString();
            }
        }
        return error.getClass().getSimpleName().replace("Exception", "");
    }

    private static String savepoints() {
        try {
            Path folder = Files.createTempDirectory("savepoints");
            Runtime.getRuntime().addShutdownHook(new Thread(() -> FileUtils.deleteDirectoryQuietly(folder.toFile())));
            return folder.toUri().toString();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private final class Context implements CheckpointPlanCalculatorContext {
        @Override
        public ScheduledExecutor getMainExecutor() {
            return executor;
        }

        @Override
        public boolean hasFinishedTasks() {
            return hasFinishedTasks;
        }
    }

    private final class RecordedFailures implements CheckpointFailureManager.FailJobCallback {
        @Override
        public void failJob(Throwable cause) {
            events.add("fail_job");
        }

        @Override
        public void failJobDueToTaskFailure(Throwable cause, ExecutionAttemptID task) {
            events.add("fail_job_due_to_task " + graph.name(task));
        }
    }

    /** Snapshots its state when the script says so. */
    private final class ScriptedCoordinator implements OperatorCoordinatorCheckpointContext {
        private final int number;
        private final List<CompletableFuture<byte[]>> results = new ArrayList<>();

        private ScriptedCoordinator(int number) {
            this.number = number;
        }

        private void deliver(String what) {
            if (!results.isEmpty()) {
                CompletableFuture<byte[]> result = results.remove(0);
                if (what.equals("state")) {
                    result.complete(new byte[] {1});
                } else {
                    result.completeExceptionally(
                            what.equals("io") ? new IOException("scripted") : new IllegalStateException("scripted"));
                }
            }
        }

        @Override
        public void checkpointCoordinator(long checkpointId, CompletableFuture<byte[]> result) {
            events.add("coordinator " + number + " snapshot " + checkpointId);
            results.add(result);
        }

        @Override
        public void abortCurrentTriggering() {
            events.add("coordinator " + number + " abort_triggering");
        }

        @Override
        public void notifyCheckpointComplete(long checkpointId) {
            events.add("coordinator " + number + " complete " + checkpointId);
        }

        @Override
        public void notifyCheckpointAborted(long checkpointId) {
            events.add("coordinator " + number + " aborted " + checkpointId);
        }

        @Override
        public void resetToCheckpoint(long checkpointId, byte[] state) {}

        @Override
        public void subtaskReset(int subtask, long checkpointId) {}

        @Override
        public OperatorID operatorId() {
            return new OperatorID(7, number);
        }

        @Override
        public int maxParallelism() {
            return 128;
        }

        @Override
        public int currentParallelism() {
            return graph.jobVertex(0).getParallelism();
        }
    }
}
