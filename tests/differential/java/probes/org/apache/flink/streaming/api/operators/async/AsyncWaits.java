package org.apache.flink.streaming.api.operators.async;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongValueSerializer;
import org.apache.flink.runtime.event.WatermarkEvent;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.datastream.AsyncDataStream.OutputMode;
import org.apache.flink.streaming.api.functions.async.AsyncRetryStrategy;
import org.apache.flink.streaming.api.operators.Output;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.flink.streaming.api.operators.async.queue.StreamElementQueue;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamElement;
import org.apache.flink.streaming.runtime.streamrecord.StreamElementSerializer;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.StreamTaskActionExecutor;
import org.apache.flink.streaming.runtime.tasks.mailbox.Mail;
import org.apache.flink.streaming.runtime.tasks.mailbox.MailboxExecutorImpl;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailbox;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.streaming.util.retryable.AsyncRetryStrategies;
import org.apache.flink.types.LongValue;
import org.apache.flink.util.OutputTag;

/**
 * A real AsyncWaitOperator with a real mailbox, time moved by hand, and a script of commands. While the operator yields
 * and no mail may run, the next commands of the world around it are played before their turn: a yield never blocks.
 */
public final class AsyncWaits {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int PRIORITY = 1;
    private static final List<String> OF_THE_WORLD = List.of("answer", "again", "time", "foreign");

    private final List<String> log = new ArrayList<>();
    private final JsonNode script;
    private final List<JsonNode> commands = new ArrayList<>();
    private final Calls calls;
    private final boolean objectReuse;
    private final LongValue shared = new LongValue();
    private TaskMailbox mailbox;
    private MailedTime time;
    private TaskOfOneOperator task;
    private AsyncWaitOperator<LongValue, Long> operator;

    /** Answers a list of strings per command: what was logged, then what there is in the operator. */
    public static String run(String script) throws Exception {
        return new AsyncWaits(JSON.readTree(script)).answers();
    }

    private AsyncWaits(JsonNode script) throws Exception {
        this.script = script;
        script.get("commands").forEach(commands::add);
        objectReuse = script.get("object_reuse").asBoolean();
        calls = new Calls(script, log);
        build(script.get("capacity").asInt(), 1, List.of());
    }

    private String answers() throws Exception {
        List<List<String>> answers = new ArrayList<>();
        while (!commands.isEmpty()) {
            JsonNode command = commands.remove(0);
            try {
                play(command);
            } catch (Throwable thrown) {
                log.add("throws " + Calls.named(thrown));
            }
            log.add(state());
            answers.add(new ArrayList<>(log));
            log.clear();
        }
        return JSON.writeValueAsString(answers);
    }

    /** A new task, as after a restart: the old mailbox takes nothing any more. */
    private void build(int capacity, long nowMs, List<StreamElement> elements) throws Exception {
        if (mailbox != null) {
            mailbox.close();
        }
        mailbox = new TaskMailboxImpl(Thread.currentThread());
        MailboxExecutorImpl mails = new MailboxExecutorImpl(mailbox, PRIORITY, StreamTaskActionExecutor.IMMEDIATE);
        time = new MailedTime(mails, nowMs, script.get("lag").asLong());
        task = new TaskOfOneOperator(objectReuse, this::failed);
        task.state.getListState(descriptor()).update(elements);
        MailboxExecutor yielding = new Yielding(mails);
        operator =
                new AsyncWaitOperator<>(
                        new StreamOperatorParameters<>(task.task, task.config, new Told(), () -> time, null, yielding),
                        calls, script.get("timeout").asLong(), capacity,
                        script.get("ordered").asBoolean() ? OutputMode.ORDERED : OutputMode.UNORDERED,
                        strategy(script.get("strategy")), time, yielding);
        task.initializeState(operator);
        orderTheSetOfRetries();
        operator.open();
    }

    /** The real set has the order of identity hashes, which differs from run to run; it is made just before the state is read. */
    private void orderTheSetOfRetries() throws Exception {
        Object recovered = TaskOfOneOperator.get(AsyncWaitOperator.class, operator, "recoveredStreamElements");
        Object ordering =
                TaskOfOneOperator.proxy(
                        ListState.class,
                        (proxy, method, arguments) -> {
                            if (waiting() != null) {
                                TaskOfOneOperator.set(
                                        AsyncWaitOperator.class, operator, "inFlightDelayRetryHandlers", new LinkedHashSet<>());
                            }
                            return method.invoke(recovered, arguments);
                        });
        TaskOfOneOperator.set(AsyncWaitOperator.class, operator, "recoveredStreamElements", ordering);
    }

    private ListStateDescriptor<StreamElement> descriptor() {
        return new ListStateDescriptor<>(
                "_async_wait_operator_state_", new StreamElementSerializer<>(LongValueSerializer.INSTANCE));
    }

    private void failed(Throwable failure) {
        String of = failure.getMessage().replaceFirst(".*Record @ (.*) : (.*)\\.$", "$2 @ $1").replace(" @ (undef)", "");
        log.add("fails " + of + ": " + (failure.getCause() == null ? "no results" : Calls.named(failure.getCause())));
    }

    private void play(JsonNode command) throws Exception {
        switch (command.get(0).asText()) {
            case "r":
                operator.processElement(record(command));
                return;
            case "w":
                operator.processWatermark(new Watermark(command.get(1).asLong()));
                return;
            case "st":
                operator.processWatermarkStatus(command.get(1).asBoolean() ? WatermarkStatus.ACTIVE : WatermarkStatus.IDLE);
                return;
            case "lat":
                operator.processLatencyMarker(new LatencyMarker(command.get(1).asLong(), new OperatorID(), 0));
                return;
            case "mail":
                mail();
                return;
            case "end":
                operator.endInput();
                return;
            case "snap":
                log.add("snapshot " + shown(snapshot()));
                return;
            case "restore":
                List<StreamElement> elements = snapshot();
                log.add("snapshot " + shown(elements));
                build(command.get(1).asInt(), time.getCurrentProcessingTime(), elements);
                return;
            case "quiesce":
                mailbox.quiesce();
                return;
            default:
                world(command);
        }
    }

    /** What others do, whatever the task does meanwhile. */
    private void world(JsonNode command) {
        switch (command.get(0).asText()) {
            case "answer":
                calls.answer(command.get(1).asInt(), command.get(2));
                return;
            case "again":
                calls.answerAgain(command.get(1).asInt(), command.get(2));
                return;
            case "time":
                try {
                    time.advance(command.get(1).asLong());
                } catch (java.util.concurrent.RejectedExecutionException closed) {
                    log.add("timer refused");
                }
                return;
            case "foreign":
                int priority = command.get(1).asInt();
                MailboxExecutor.MailOptions options =
                        command.get(2).asBoolean() ? MailboxExecutor.MailOptions.urgent() : MailboxExecutor.MailOptions.options();
                try {
                    mailbox.put(new Mail(options, () -> log.add("mail " + priority), priority, "foreign"));
                } catch (TaskMailbox.MailboxClosedException closed) {
                    log.add("mail refused");
                }
                return;
            default:
                throw new IllegalArgumentException(command.toString());
        }
    }

    private StreamRecord<LongValue> record(JsonNode command) {
        LongValue value = script.get("mutates").asBoolean() ? shared : new LongValue();
        value.setValue(command.get(1).asLong());
        StreamRecord<LongValue> record = new StreamRecord<>(value);
        if (!command.get(2).isNull()) {
            record.setTimestamp(command.get(2).asLong());
        }
        return record;
    }

    private void mail() throws Exception {
        mailbox.createBatch();
        Optional<Mail> mail = mailbox.tryTakeFromBatch();
        if (mail.isPresent()) {
            mail.get().run();
        } else {
            log.add("no mail");
        }
    }

    private List<StreamElement> snapshot() throws Exception {
        operator.snapshotState(
                TaskOfOneOperator.proxy(StateSnapshotContext.class, (proxy, method, arguments) -> null));
        ListState<StreamElement> state = task.state.getListState(descriptor());
        StreamElementSerializer<LongValue> serializer = new StreamElementSerializer<>(LongValueSerializer.INSTANCE);
        List<StreamElement> copies = new ArrayList<>();
        for (StreamElement element : state.get()) {
            copies.add(serializer.copy(element));
        }
        return copies;
    }

    private static String shown(List<StreamElement> elements) throws Exception {
        List<Object> shown = new ArrayList<>();
        for (StreamElement element : elements) {
            if (element.isRecord()) {
                StreamRecord<LongValue> record = element.asRecord();
                Long timestamp = record.hasTimestamp() ? record.getTimestamp() : null;
                shown.add(java.util.Arrays.asList("r", record.getValue().getValue(), timestamp));
            } else {
                shown.add(List.of("w", element.asWatermark().getTimestamp()));
            }
        }
        return JSON.writeValueAsString(shown);
    }

    private Collection<?> waiting() throws Exception {
        return (Collection<?>) TaskOfOneOperator.get(AsyncWaitOperator.class, operator, "inFlightDelayRetryHandlers");
    }

    private String state() throws Exception {
        StreamElementQueue<?> queue =
                (StreamElementQueue<?>) TaskOfOneOperator.get(AsyncWaitOperator.class, operator, "queue");
        return "queue " + queue.size() + ", mails " + mailbox.size() + ", retrying "
                + (waiting() == null ? 0 : waiting().size()) + ", timers " + time.live();
    }

    private AsyncRetryStrategy<Long> strategy(JsonNode said) {
        if (said.isNull()) {
            return AsyncRetryStrategies.NO_RETRY_STRATEGY;
        }
        int attempts = said.get("max_attempts").asInt();
        Predicate<Collection<Long>> result = said.get("result").asBoolean() ? calls::asksForResults : null;
        Predicate<Throwable> exception = said.get("exception").asBoolean() ? calls::asksForError : null;
        if ("fixed".equals(said.get("kind").asText())) {
            AsyncRetryStrategies.FixedDelayRetryStrategyBuilder<Long> fixed =
                    new AsyncRetryStrategies.FixedDelayRetryStrategyBuilder<>(attempts, said.get("delay").asLong());
            return fixed.ifResult(result).ifException(exception).build();
        }
        return new AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategyBuilder<Long>(
                        attempts, said.get("initial").asLong(), said.get("max").asLong(), said.get("multiplier").asDouble())
                .ifResult(result)
                .ifException(exception)
                .build();
    }

    /** Yields to mails that are there; to get one, it plays what the world does next. */
    private final class Yielding implements MailboxExecutor {
        private final MailboxExecutorImpl mails;

        Yielding(MailboxExecutorImpl mails) {
            this.mails = mails;
        }

        @Override
        public void execute(
                MailOptions options, org.apache.flink.util.function.ThrowingRunnable<? extends Exception> command,
                String description, Object... arguments) {
            mails.execute(options, command, description, arguments);
        }

        @Override
        public void yield() {
            while (!mails.tryYield()) {
                JsonNode command =
                        commands.stream()
                                .filter(each -> OF_THE_WORLD.contains(each.get(0).asText()))
                                .findFirst()
                                .orElseThrow(() -> new Calls.Said("stuck"));
                commands.removeIf(each -> each == command);
                world(command);
            }
        }

        @Override
        public boolean tryYield() {
            return mails.tryYield();
        }

        @Override
        public boolean shouldInterrupt() {
            return mails.shouldInterrupt();
        }
    }

    private final class Told implements Output<StreamRecord<Long>> {
        @Override
        public void collect(StreamRecord<Long> record) {
            log.add("rec " + record.getValue() + " " + (record.hasTimestamp() ? record.getTimestamp() : null));
        }

        @Override
        public <X> void collect(OutputTag<X> tag, StreamRecord<X> record) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void emitWatermark(Watermark mark) {
            log.add("wm " + mark.getTimestamp());
        }

        @Override
        public void emitWatermarkStatus(WatermarkStatus status) {
            log.add("st " + status.isActive());
        }

        @Override
        public void emitLatencyMarker(LatencyMarker marker) {
            log.add("lat " + marker.getMarkedTime());
        }

        @Override
        public void emitRecordAttributes(RecordAttributes attributes) {}

        @Override
        public void emitWatermark(WatermarkEvent event) {}

        @Override
        public void close() {}
    }
}
