package org.apache.flink.streaming.api.operators;

import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.flink.api.common.eventtime.IndexedCombinedWatermarkStatus;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.operators.co.IntervalJoinOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;
import org.apache.flink.util.function.ThrowingRunnable;

/**
 * A real IntervalJoinOperator with a heap backend, real timers that may give way to mails, and mails that a script puts and
 * runs: answers what each command did. Records are longs; their key is the rest by 3.
 */
public final class IntervalJoins extends OperatorWithoutTask {
    private final Mails mails = new Mails();
    private final IntervalJoinOperator<Object, Object, Object, Object> operator;

    /** Answers a list of strings per command: what was logged, then timers and entries of state. */
    public static String run(String script) throws Exception {
        JsonNode given = read(script);
        return new IntervalJoins(given).answers(given.get("commands"));
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private IntervalJoins(JsonNode given) throws Exception {
        boolean late = given.get("late_output").asBoolean();
        operator =
                new IntervalJoinOperator<>(
                        given.get("lower").asLong(), given.get("upper").asLong(), !given.get("lower_exclusive").asBoolean(),
                        !given.get("upper_exclusive").asBoolean(), late ? new OutputTag<>("late_left", (org.apache.flink.api.common.typeinfo.TypeInformation) Types.LONG) : null,
                        late ? new OutputTag<>("late_right", (org.apache.flink.api.common.typeinfo.TypeInformation) Types.LONG) : null,
                        (TypeSerializer) LongSerializer.INSTANCE, (TypeSerializer) LongSerializer.INSTANCE,
                        new Pairs(given.get("gives_way").asBoolean()));
        operator.combinedWatermark = IndexedCombinedWatermarkStatus.forInputsCount(2);
        operator.setMailboxExecutor(mails);
        furnish(operator, interruptible());
        operator.initializeState(
                (StateInitializationContext)
                        java.lang.reflect.Proxy.newProxyInstance(
                                IntervalJoins.class.getClassLoader(), new Class<?>[] {StateInitializationContext.class},
                                (proxy, method, arguments) ->
                                        "getKeyedStateStore".equals(method.getName())
                                                ? operator.stateHandler.getKeyedStateStore().get()
                                                : false));
        operator.open();
    }

    private static Configuration interruptible() {
        Configuration configuration = new Configuration();
        configuration.setString("execution.checkpointing.interval", "1 s");
        configuration.setString("execution.checkpointing.mode", "EXACTLY_ONCE");
        configuration.setString("execution.checkpointing.unaligned.enabled", "true");
        configuration.setString("execution.checkpointing.unaligned.interruptible-timers.enabled", "true");
        return configuration;
    }

    @Override
    void play(JsonNode command) throws Exception {
        switch (command.get(0).asText()) {
            case "r":
                long value = command.get(2).asLong();
                setCurrentKey(Math.floorMod(value, 3L));
                StreamRecord<Object> record = new StreamRecord<>(value);
                if (!command.get(3).isNull()) {
                    record.setTimestamp(command.get(3).asLong());
                }
                if (command.get(1).asInt() == 1) {
                    operator.processElement1(record);
                } else {
                    operator.processElement2(record);
                }
                return;
            case "w":
                Watermark mark = new Watermark(command.get(2).asLong());
                if (command.get(1).asInt() == 1) {
                    operator.processWatermark1(mark);
                } else {
                    operator.processWatermark2(mark);
                }
                return;
            case "mail":
                mails.execute(() -> log.add("mail"), "mail");
                return;
            default:
                mails.runNext();
        }
    }

    @Override
    String state() {
        InternalTimerServiceImpl<?, ?> timers = timers("CLEANUP_TIMER");
        return "timers " + timers.numEventTimeTimers() + ", watermark " + timers.currentWatermark() + ", state "
                + backend.numKeyValueStateEntries() + ", mails " + mails.waiting.size();
    }

    /** Emits what it is given, and the distance of a pair to a side output where it is a multiple of 4. */
    private static final class Pairs extends ProcessJoinFunction<Object, Object, Object> {
        private static final OutputTag<Long> DISTANCE = new OutputTag<>("distance", Types.LONG);
        private final boolean givesWay;

        Pairs(boolean givesWay) {
            this.givesWay = givesWay;
        }

        @Override
        public boolean useInterruptibleTimers(ReadableConfig config) {
            return givesWay;
        }

        @Override
        public void processElement(Object left, Object right, Context context, Collector<Object> out) {
            out.collect(left + "+" + right);
            long distance = context.getRightTimestamp() - context.getLeftTimestamp();
            if (Math.floorMod(distance, 4L) == 0) {
                context.output(DISTANCE, distance);
            }
            out.collect(context.getTimestamp());
        }
    }

    /** Mails wait until the script runs them, whatever their options. */
    private static final class Mails implements MailboxExecutor {
        private final Deque<ThrowingRunnable<? extends Exception>> waiting = new ArrayDeque<>();

        void runNext() throws Exception {
            if (!waiting.isEmpty()) {
                waiting.poll().run();
            }
        }

        @Override
        public void execute(
                MailOptions options, ThrowingRunnable<? extends Exception> command, String format, Object... arguments) {
            waiting.add(command);
        }

        @Override
        public void yield() {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean tryYield() {
            return false;
        }

        @Override
        public boolean shouldInterrupt() {
            return !waiting.isEmpty();
        }
    }
}
