package org.apache.flink.streaming.runtime.tasks;

import static flowsim.differential.Recorders.nothing;
import static flowsim.differential.Recorders.recorder;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointFailureReason;
import org.apache.flink.runtime.checkpoint.CheckpointMetaData;
import org.apache.flink.runtime.checkpoint.CheckpointMetricsBuilder;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.channel.ChannelResults;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.event.AbstractEvent;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.io.network.api.CancelCheckpointMarker;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointStorageWorkerView;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.TaskStateManager;
import org.apache.flink.streaming.api.operators.OperatorSnapshotFutures;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.runtime.io.RecordWriterOutput;

/** A real SubtaskCheckpointCoordinatorImpl over a real chain op0 (head), op1, op2, with everything around it recorded. */
public final class SubtaskCheckpoints {
    private static final CheckpointStorageLocationReference PLACE = CheckpointStorageLocationReference.getDefault();
    private static final CheckpointType TYPE = CheckpointType.CHECKPOINT;
    private static final long TIMEOUT = 1_000_000_000L;

    private final List<String> log = new ArrayList<>();
    private final Deque<Runnable> operations = new ArrayDeque<>();
    private final Map<Long, CompletableFuture<Void>> inputs = new HashMap<>();
    private final Set<Long> failingWrites = new HashSet<>();
    private final Map<Long, String[]> failingChannels = new HashMap<>();
    private final RegularOperatorChain<Object, StreamOperator<Object>> chain;
    private final SubtaskCheckpointCoordinatorImpl coordinator;
    private boolean running = true;
    private long failingSnapshot = -1;
    private long failingNotification = -1;
    private Callable<?> timer;

    private SubtaskCheckpoints(int maxAborted) throws Exception {
        chain = chain();
        coordinator =
                new SubtaskCheckpointCoordinatorImpl(
                        recorder(CheckpointStorageWorkerView.class, (proxy, method, a) -> nothing(method)),
                        "t",
                        StreamTaskActionExecutor.IMMEDIATE,
                        new Pool(),
                        environment(),
                        (message, error) -> log.add("async_exception"),
                        (writer, id) -> {
                            log.add("prepare_inputs " + id);
                            return inputs.computeIfAbsent(id, key -> new CompletableFuture<>());
                        },
                        maxAborted,
                        writer(),
                        true,
                        (callback, delay) -> register(callback));
    }

    /** The first line is the number of aborted checkpoints that are remembered. */
    public static String run(String script) throws Exception {
        String[] lines = script.split("\n");
        SubtaskCheckpoints probe = new SubtaskCheckpoints(Integer.parseInt(lines[0]));
        StringJoiner answers = new StringJoiner("\n");
        for (int i = 1; i < lines.length; i++) {
            probe.log.clear();
            try {
                probe.execute(lines[i].split(" "));
            } catch (Exception e) {
                probe.log.add("!" + e.getClass().getSimpleName());
            }
            answers.add(String.join(";", probe.log));
        }
        return answers.toString();
    }

    private void execute(String[] words) throws Exception {
        long id = words.length > 1 && !words[0].equals("running") ? Long.parseLong(words[1]) : 0;
        switch (words[0]) {
            case "init_inputs":
                coordinator.initInputsCheckpoint(id, options(words[2]));
                break;
            case "checkpoint":
                long now = System.currentTimeMillis();
                coordinator.checkpointState(
                        new CheckpointMetaData(id, now, now),
                        options(words[2]),
                        new CheckpointMetricsBuilder()
                                .setAlignmentDurationNanos(0L)
                                .setBytesProcessedDuringAlignment(0L)
                                .setCheckpointStartDelayNanos(0L),
                        chain,
                        false,
                        () -> running);
                break;
            case "snapshot_will_fail":
                failingSnapshot = id;
                break;
            case "write_will_fail":
                failingWrites.add(id);
                break;
            case "channels_will_fail":
                failingChannels.put(id, words);
                break;
            case "notification_will_fail":
                failingNotification = id;
                break;
            case "run_async":
                Runnable operation = operations.poll();
                if (operation != null) {
                    operation.run();
                }
                break;
            case "complete":
                coordinator.notifyCheckpointComplete(id, chain, () -> running);
                break;
            case "aborted":
                coordinator.notifyCheckpointAborted(id, chain, () -> running);
                break;
            case "subsumed":
                coordinator.notifyCheckpointSubsumed(id, chain, () -> running);
                break;
            case "abort_on_barrier":
                coordinator.abortCheckpointOnBarrier(
                        id,
                        new CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER),
                        chain);
                break;
            case "inputs_done":
                CompletableFuture<Void> done = inputs.get(id);
                if (done != null) {
                    done.complete(null);
                }
                break;
            case "inputs_fail":
                CompletableFuture<Void> failed = inputs.get(id);
                if (failed != null) {
                    failed.completeExceptionally(new RuntimeException("scripted"));
                }
                break;
            case "fire_timer":
                Callable<?> fired = timer;
                timer = null;
                if (fired != null) {
                    fired.call();
                }
                break;
            case "running":
                running = Boolean.parseBoolean(words[1]);
                break;
            case "close":
                coordinator.close();
                break;
            default:
                throw new UnsupportedOperationException(words[0]);
        }
    }

    private static CheckpointOptions options(String kind) {
        switch (kind) {
            case "aligned":
                return CheckpointOptions.alignedNoTimeout(TYPE, PLACE);
            case "timeoutable":
                return CheckpointOptions.alignedWithTimeout(TYPE, PLACE, TIMEOUT);
            case "unaligned":
                return CheckpointOptions.unaligned(TYPE, PLACE);
            case "forced_unaligned":
                return CheckpointOptions.unaligned(TYPE, PLACE).withUnalignedUnsupported();
            case "forced_timeoutable":
                return CheckpointOptions.alignedWithTimeout(TYPE, PLACE, TIMEOUT).withUnalignedUnsupported();
            default:
                return CheckpointOptions.notExactlyOnce(TYPE, PLACE);
        }
    }

    private OperatorSnapshotFutures snapshot(String name, long id) throws CheckpointException {
        log.add("snapshot " + name + " " + id);
        if (id == failingSnapshot && name.equals("op1")) {
            throw new CheckpointException("scripted", CheckpointFailureReason.CHECKPOINT_DECLINED);
        }
        OperatorSnapshotFutures futures = new OperatorSnapshotFutures();
        if (failingWrites.contains(id) && name.equals("op1")) {
            RunnableFuture<SnapshotResult<KeyedStateHandle>> failing =
                    new FutureTask<>(
                            () -> {
                                throw new IllegalStateException("scripted");
                            });
            futures.setKeyedStateManagedFuture(failing);
        }
        return futures;
    }

    private Object notified(String event, String name, Object id) {
        log.add(event + " " + name + " " + id);
        if ((Long) id == failingNotification && !name.equals("op1")) {
            throw new IllegalStateException(name);
        }
        return null;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private RegularOperatorChain<Object, StreamOperator<Object>> chain() {
        List<StreamOperatorWrapper<?, ?>> wrappers = new ArrayList<>();
        for (int i = 2; i >= 0; i--) {
            String name = "op" + i;
            OperatorID operator = new OperatorID(i + 1, 7);
            StreamOperator<Object> recorded =
                    recorder(
                            StreamOperator.class,
                            (proxy, method, a) -> {
                                switch (method.getName()) {
                                    case "getOperatorID":
                                        return operator;
                                    case "prepareSnapshotPreBarrier":
                                        log.add("prepare " + name + " " + a[0]);
                                        return null;
                                    case "snapshotState":
                                        return snapshot(name, (Long) a[0]);
                                    case "notifyCheckpointComplete":
                                        return notified("complete", name, a[0]);
                                    case "notifyCheckpointAborted":
                                        return notified("aborted", name, a[0]);
                                    default:
                                        return nothing(method);
                                }
                            });
            MailboxExecutor mailbox = recorder(MailboxExecutor.class, (proxy, method, a) -> nothing(method));
            wrappers.add(new StreamOperatorWrapper<>(recorded, Optional.empty(), mailbox, i == 0));
        }
        WatermarkGaugeExposingOutput output =
                recorder(WatermarkGaugeExposingOutput.class, (proxy, method, a) -> nothing(method));
        return new RegularOperatorChain<Object, StreamOperator<Object>>(
                wrappers, new RecordWriterOutput<?>[0], output, (StreamOperatorWrapper) wrappers.get(2)) {
            @Override
            public void broadcastEvent(AbstractEvent event, boolean priority) {
                if (event instanceof CheckpointBarrier) {
                    CheckpointBarrier barrier = (CheckpointBarrier) event;
                    log.add(
                            "barrier "
                                    + barrier.getId()
                                    + " "
                                    + barrier.getCheckpointOptions().getAlignment()
                                    + (priority ? " priority" : ""));
                } else {
                    log.add("cancel_marker " + ((CancelCheckpointMarker) event).getCheckpointId());
                }
            }

            @Override
            public void abortCheckpoint(long id, CheckpointException cause) {
                log.add("abort_outputs " + id);
            }

            @Override
            public void alignedBarrierTimeout(long id) {
                log.add("outputs_to_unaligned " + id);
            }
        };
    }

    private ChannelStateWriter writer() {
        return recorder(
                ChannelStateWriter.class,
                (proxy, method, a) -> {
                    switch (method.getName()) {
                        case "getAndRemoveWriteResult":
                            log.add("channel take " + a[0]);
                            return written(failingChannels.get(a[0]));
                        case "abort":
                            log.add("channel abort " + a[0] + " " + a[2]);
                            return null;
                        case "start":
                        case "finishInput":
                        case "finishOutput":
                            log.add("channel " + method.getName() + " " + a[0]);
                            return null;
                        default:
                            return nothing(method);
                    }
                });
    }

    private static ChannelStateWriter.ChannelStateWriteResult written(String[] failing) {
        if (failing == null) {
            return ChannelStateWriter.ChannelStateWriteResult.EMPTY;
        }
        Throwable error =
                failing[3].equals("reason")
                        ? new CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED_SUBSUMED)
                        : new IllegalStateException("scripted");
        return ChannelResults.failed(failing[2].equals("inputs"), error);
    }

    private Environment environment() {
        TaskStateManager manager =
                recorder(
                        TaskStateManager.class,
                        (proxy, method, a) -> {
                            switch (method.getName()) {
                                case "reportTaskStateSnapshots":
                                    log.add("ack " + ((CheckpointMetaData) a[0]).getCheckpointId());
                                    return null;
                                case "reportIncompleteTaskStateSnapshots":
                                    log.add("incomplete " + ((CheckpointMetaData) a[0]).getCheckpointId());
                                    return null;
                                case "notifyCheckpointComplete":
                                    log.add("local_complete " + a[0]);
                                    return null;
                                case "notifyCheckpointAborted":
                                    log.add("local_aborted " + a[0]);
                                    return null;
                                default:
                                    return nothing(method);
                            }
                        });
        return recorder(
                Environment.class,
                (proxy, method, a) -> {
                    switch (method.getName()) {
                        case "getTaskStateManager":
                            return manager;
                        case "declineCheckpoint":
                            log.add(
                                    "decline "
                                            + a[0]
                                            + " "
                                            + ((CheckpointException) a[1]).getCheckpointFailureReason().name());
                            return null;
                        default:
                            return nothing(method);
                    }
                });
    }

    private org.apache.flink.streaming.runtime.io.checkpointing.BarrierAlignmentUtil.Cancellable register(
            Callable<?> callback) {
        timer = callback;
        log.add("timer");
        return () -> {
            if (timer != null) {
                timer = null;
                log.add("timer_cancel");
            }
        };
    }

    /** Runs nothing by itself: the command run_async does. */
    private final class Pool extends AbstractExecutorService {
        @Override
        public void execute(Runnable operation) {
            operations.add(operation);
        }

        @Override
        public void shutdown() {}

        @Override
        public List<Runnable> shutdownNow() {
            return List.of();
        }

        @Override
        public boolean isShutdown() {
            return false;
        }

        @Override
        public boolean isTerminated() {
            return false;
        }

        @Override
        public boolean awaitTermination(long time, TimeUnit unit) {
            return true;
        }
    }
}
