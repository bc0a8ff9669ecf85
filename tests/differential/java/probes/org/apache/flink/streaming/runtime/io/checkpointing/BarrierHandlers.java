package org.apache.flink.streaming.runtime.io.checkpointing;

import static flowsim.differential.Recorders.nothing;
import static flowsim.differential.Recorders.recorder;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointFailureReason;
import org.apache.flink.runtime.checkpoint.CheckpointMetaData;
import org.apache.flink.runtime.checkpoint.CheckpointMetricsBuilder;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.io.network.api.CancelCheckpointMarker;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.runtime.io.network.partition.consumer.CheckpointableInput;
import org.apache.flink.runtime.jobgraph.tasks.CheckpointableTask;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.streaming.runtime.tasks.SubtaskCheckpointCoordinator;
import org.apache.flink.util.clock.ManualClock;

/** A real barrier handler of any mode, with recorded calls, under commands: one line per command, and per answer. */
public final class BarrierHandlers {
    private static final CheckpointStorageLocationReference PLACE = CheckpointStorageLocationReference.getDefault();

    private static final class Timer {
        private final Callable<?> callback;
        private final long due;
        private boolean live = true;

        private Timer(Callable<?> callback, long due) {
            this.callback = callback;
            this.due = due;
        }
    }

    private final List<String> events = new ArrayList<>();
    private final List<Timer> timers = new ArrayList<>();
    private final List<Long> triggered = new ArrayList<>();
    private final List<CheckpointMetricsBuilder> metrics = new ArrayList<>();
    private final ManualClock clock = new ManualClock(0);
    private final long timeout;
    private final CheckpointBarrierHandler handler;
    private boolean refuses;

    /** {@code words}: mode, whether ended channels count, timeout, channels of each gate. */
    private BarrierHandlers(String[] words) {
        clock.advanceTime(Duration.ofMillis(1000));
        boolean after = Boolean.parseBoolean(words[1]);
        timeout = Long.parseLong(words[2]);
        int gates = words.length - 3;
        int channels = 0;
        CheckpointableInput[] inputs = new CheckpointableInput[gates];
        for (int gate = 0; gate < gates; gate++) {
            inputs[gate] = input(gate);
            channels += Integer.parseInt(words[gate + 3]);
        }
        SubtaskCheckpointCoordinator coordinator =
                recorder(
                        SubtaskCheckpointCoordinator.class,
                        (proxy, method, a) -> {
                            if (method.getName().equals("initInputsCheckpoint")) {
                                log("init_inputs", a[0], ((CheckpointOptions) a[1]).getAlignment());
                            }
                            return nothing(method);
                        });
        switch (words[0]) {
            case "tracker":
                handler = new CheckpointBarrierTracker(channels, task(), clock, after);
                break;
            case "aligned":
                handler =
                        SingleCheckpointBarrierHandler.aligned(
                                "t", task(), clock, channels, this::register, after, inputs);
                break;
            case "alternating":
                handler =
                        SingleCheckpointBarrierHandler.alternating(
                                "t", task(), coordinator, clock, channels, this::register, after, inputs);
                break;
            default:
                handler =
                        SingleCheckpointBarrierHandler.unaligned(
                                "t", task(), coordinator, clock, channels, this::register, after, inputs);
        }
    }

    public static String run(String script) {
        String[] lines = script.split("\n");
        BarrierHandlers probe = new BarrierHandlers(lines[0].split(" "));
        StringJoiner answers = new StringJoiner("\n");
        for (int i = 1; i < lines.length; i++) {
            answers.add(probe.answer(lines[i].split(" ")));
        }
        return answers.toString();
    }

    private String answer(String[] words) {
        events.clear();
        try {
            if (words[0].equals("metrics")) {
                return metrics();
            }
            execute(words);
        } catch (Exception e) {
            events.add("!" + e.getClass().getSimpleName());
        }
        return String.join(";", events)
                + "|"
                + handler.getLatestCheckpointId()
                + " "
                + handler.isCheckpointPending()
                + " "
                + handler.getAlignmentDurationNanos()
                + " "
                + handler.getCheckpointStartDelayNanos()
                + " "
                + allBarriers();
    }

    private String allBarriers() {
        if (handler instanceof CheckpointBarrierTracker) {
            return "-";
        }
        CompletableFuture<Void> received = handler.getAllBarriersReceivedFuture(handler.getLatestCheckpointId());
        return received.isCompletedExceptionally() ? "failed" : received.isDone() ? "received" : "open";
    }

    private void execute(String[] words) throws Exception {
        switch (words[0]) {
            case "bytes":
                handler.addProcessedBytes(Integer.parseInt(words[1]));
                return;
            case "refuse":
                refuses = true;
                return;
            case "late_ms":
                clock.advanceTime(Duration.ofMillis(Long.parseLong(words[1])));
                return;
            case "advance_ms":
                clock.advanceTime(Duration.ofMillis(Long.parseLong(words[1])));
                for (Timer timer : new ArrayList<>(timers)) {
                    if (timer.live && timer.due <= clock.relativeTimeMillis()) {
                        timer.live = false;
                        log("timer_fires");
                        timer.callback.call();
                    }
                }
                return;
            default:
        }
        InputChannelInfo channel = new InputChannelInfo(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
        switch (words[0]) {
            case "announce":
                handler.processBarrierAnnouncement(
                        barrier(words[3], "timeoutable", words[5]), Integer.parseInt(words[4]), channel);
                break;
            case "barrier":
            case "rpc_barrier":
                handler.processBarrier(
                        barrier(words[3], words[4], words[5]), channel, words[0].equals("rpc_barrier"));
                break;
            case "cancel":
                handler.processCancellationBarrier(new CancelCheckpointMarker(Long.parseLong(words[3])), channel);
                break;
            case "end_of_partition":
                handler.processEndOfPartition(channel);
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private CheckpointBarrier barrier(String id, String kind, String timestamp) {
        return new CheckpointBarrier(Long.parseLong(id), Long.parseLong(timestamp), options(kind));
    }

    private CheckpointOptions options(String kind) {
        switch (kind) {
            case "savepoint":
                return CheckpointOptions.alignedNoTimeout(
                        SavepointType.savepoint(SavepointFormatType.CANONICAL), PLACE);
            case "aligned":
                return CheckpointOptions.alignedNoTimeout(CheckpointType.CHECKPOINT, PLACE);
            case "unaligned":
                return CheckpointOptions.unaligned(CheckpointType.CHECKPOINT, PLACE);
            case "at_least_once":
                return CheckpointOptions.notExactlyOnce(CheckpointType.CHECKPOINT, PLACE);
            default:
                return CheckpointOptions.alignedWithTimeout(CheckpointType.CHECKPOINT, PLACE, timeout);
        }
    }

    private CheckpointableTask task() {
        return recorder(
                CheckpointableTask.class,
                (proxy, method, a) -> {
                    if (method.getName().equals("triggerCheckpointOnBarrier")) {
                        long id = ((CheckpointMetaData) a[0]).getCheckpointId();
                        log("trigger", id, ((CheckpointOptions) a[1]).getAlignment());
                        triggered.add(id);
                        metrics.add((CheckpointMetricsBuilder) a[2]);
                    } else if (method.getName().equals("abortCheckpointOnBarrier")) {
                        log("abort", a[0], ((CheckpointException) a[1]).getCheckpointFailureReason().name());
                    }
                    return nothing(method);
                });
    }

    private CheckpointableInput input(int gate) {
        return new CheckpointableInput() {
            @Override
            public void blockConsumption(InputChannelInfo channel) {
                log("block", gate, channel.getInputChannelIdx());
            }

            @Override
            public void resumeConsumption(InputChannelInfo channel) {
                log("resume", gate, channel.getInputChannelIdx());
            }

            @Override
            public List<InputChannelInfo> getChannelInfos() {
                throw new UnsupportedOperationException();
            }

            @Override
            public int getNumberOfInputChannels() {
                throw new UnsupportedOperationException();
            }

            @Override
            public void checkpointStarted(CheckpointBarrier barrier) throws CheckpointException {
                log("started", gate, barrier.getId());
                if (refuses) {
                    refuses = false;
                    throw new CheckpointException(CheckpointFailureReason.CHECKPOINT_SUBSUMED);
                }
            }

            @Override
            public void checkpointStopped(long id) {
                log("stopped", gate, id);
            }

            @Override
            public int getInputGateIndex() {
                return gate;
            }

            @Override
            public void convertToPriorityEvent(int channel, int number) {
                log("to_priority", gate, channel, number);
            }
        };
    }

    private BarrierAlignmentUtil.Cancellable register(Callable<?> callback, Duration delay) {
        log("timer", delay.toMillis());
        Timer timer = new Timer(callback, clock.relativeTimeMillis() + delay.toMillis());
        timers.add(timer);
        return () -> {
            timer.live = false;
            log("timer_cancel");
        };
    }

    private String metrics() throws Exception {
        StringJoiner answer = new StringJoiner(";");
        for (int i = 0; i < metrics.size(); i++) {
            CheckpointMetricsBuilder builder = metrics.get(i);
            answer.add(
                    triggered.get(i)
                            + " "
                            + value(builder.getAlignmentDurationNanos())
                            + " "
                            + value(builder.getBytesProcessedDuringAlignment())
                            + " "
                            + builder.getCheckpointStartDelayNanos());
        }
        return answer.toString();
    }

    private static String value(CompletableFuture<Long> future) throws Exception {
        return future.isDone() ? String.valueOf(future.get()) : "-";
    }

    private void log(Object... words) {
        StringJoiner line = new StringJoiner(" ");
        for (Object word : words) {
            line.add(word instanceof Enum ? ((Enum<?>) word).name() : String.valueOf(word));
        }
        events.add(line.toString());
    }
}
