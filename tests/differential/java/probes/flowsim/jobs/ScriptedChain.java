package flowsim.jobs;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.api.common.operators.MailboxExecutor.MailOptions;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.InternalTimer;
import org.apache.flink.streaming.api.operators.InternalTimerService;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.Triggerable;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.StreamTask;
import org.apache.flink.streaming.runtime.tasks.mailbox.Mail;
import org.apache.flink.streaming.runtime.tasks.mailbox.MailboxProcessor;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl;

/**
 * Source, then a chain of operators that follow scripts, then a sink in a task of its own that stands still until the
 * chain is blocked inside an element, a mail or a timer, and every timer that is due has put its mail.
 *
 * <p>An action is {@code ["forward", value]}, {@code ["emit", round, count]} (last operator), {@code ["mail", operator,
 * options, name, actions]}, {@code ["timer", delayMs, name, actions]}, {@code ["event_timer", time, actions]} (first
 * operator), {@code ["try_yield"]} or {@code ["yield"]}.
 */
public class ScriptedChain implements Job {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** Rounds of so many records or more fill the output: the sink waits for them to block. */
    private static final int BLOCKS = 200;

    private static final String FILLER = "x".repeat(1000);
    private static final List<MailboxExecutor> EXECUTORS = Arrays.asList(new MailboxExecutor[8]);
    private static final Set<String> OPENED = ConcurrentHashMap.newKeySet();
    private static final AtomicInteger DUE = new AtomicInteger();
    private static volatile String round;
    private static volatile Thread thread;
    private static volatile StreamTask<?, ?> task;

    @Override
    public void build(StreamExecutionEnvironment env, JsonNode given) {
        OPENED.clear();
        DUE.set(0);
        round = null;
        DataStream<String> stream =
                env.addSource(new Source(given.get("source").toString()), "source", Types.STRING)
                        .disableChaining()
                        .keyBy(value -> "key");
        for (int number = 1; number <= given.get("operators").size(); number++) {
            String script = given.get("operators").get(number - 1).toString();
            stream = stream.transform("op" + number, Types.STRING, new Scripted(number, script));
        }
        stream.rebalance().transform("sink", Types.STRING, new Sink()).disableChaining();
    }

    /** Lets the sink go on with a round once the chain is blocked in it. */
    @Override
    public void drive(MiniCluster cluster, JobID job, JsonNode given) throws Exception {
        long deadline = System.nanoTime() + 40_000_000_000L;
        while (!cluster.requestJobResult(job).isDone()) {
            if (System.nanoTime() > deadline) {
                cluster.cancelJob(job).get();
                throw new IllegalStateException("stuck in round " + round + " with " + DUE + " timers due");
            }
            String current = round;
            if (current != null && !OPENED.contains(current) && isBlocked() && timerMails() == DUE.get()) {
                OPENED.add(current);
                Log.add("blocked", current);
            }
            Thread.sleep(1);
        }
    }

    private static boolean isBlocked() {
        return Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> frame.getMethodName().equals("requestMemorySegmentBlocking"));
    }

    private static Object field(Class<?> type, Object target, String name) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(target);
    }

    @SuppressWarnings("unchecked")
    private static long timerMails() throws ReflectiveOperationException {
        Object processor = field(StreamTask.class, task, "mailboxProcessor");
        TaskMailboxImpl mailbox = (TaskMailboxImpl) field(MailboxProcessor.class, processor, "mailbox");
        long[] count = {0};
        ReflectiveOperationException[] failed = new ReflectiveOperationException[1];
        mailbox.runExclusively(
                () -> {
                    try {
                        for (String name : new String[] {"batch", "queue"}) {
                            for (Mail mail : (Collection<Mail>) field(TaskMailboxImpl.class, mailbox, name)) {
                                count[0] += mail.toString().startsWith("Timer callback") ? 1 : 0;
                            }
                        }
                    } catch (ReflectiveOperationException e) {
                        failed[0] = e;
                    }
                });
        if (failed[0] != null) {
            throw failed[0];
        }
        return count[0];
    }

    private static final class Source implements SourceFunction<String> {
        private final String script;

        Source(String script) {
            this.script = script;
        }

        @Override
        public void run(SourceContext<String> context) throws Exception {
            for (JsonNode entry : JSON.readTree(script)) {
                synchronized (context.getCheckpointLock()) {
                    if (entry.get(0).asText().equals("w")) {
                        context.emitWatermark(new Watermark(entry.get(1).asLong()));
                    } else {
                        context.collectWithTimestamp(entry.get(1).asText(), entry.get(2).asLong());
                    }
                }
            }
        }

        @Override
        public void cancel() {}
    }

    private static final class Scripted extends AbstractStreamOperator<String>
            implements OneInputStreamOperator<String, String>, Triggerable<String, VoidNamespace> {
        private final int number;
        private final String text;
        private transient JsonNode script;
        private transient MailboxExecutor executor;
        private transient InternalTimerService<VoidNamespace> timers;

        Scripted(int number, String text) {
            this.number = number;
            this.text = text;
        }

        @Override
        public void setMailboxExecutor(MailboxExecutor given) {
            super.setMailboxExecutor(given);
            executor = given;
        }

        @Override
        public void open() throws Exception {
            super.open();
            script = JSON.readTree(text);
            EXECUTORS.set(number, executor);
            thread = Thread.currentThread();
            task = getContainingTask();
            if (number == 1) {
                timers = getInternalTimerService("timers", VoidNamespaceSerializer.INSTANCE, this);
            }
        }

        @Override
        public void processElement(StreamRecord<String> element) throws Exception {
            String value = element.getValue();
            playAs("element " + value, script.path(value));
        }

        @Override
        public void processWatermark(Watermark watermark) throws Exception {
            log("begin watermark " + watermark.getTimestamp());
            super.processWatermark(watermark);
            log("end watermark " + watermark.getTimestamp());
        }

        @Override
        public void onEventTime(InternalTimer<String, VoidNamespace> timer) throws Exception {
            playAs("event timer " + timer.getTimestamp(), script.path("event timer " + timer.getTimestamp()));
        }

        @Override
        public void onProcessingTime(InternalTimer<String, VoidNamespace> timer) {}

        @Override
        public void finish() throws Exception {
            log("finish");
            super.finish();
        }

        private void log(String event) {
            Log.add("chain", "op" + number, event);
        }

        private void playAs(String name, JsonNode actions) throws Exception {
            log("begin " + name);
            for (JsonNode action : actions) {
                play(action);
            }
            log("end " + name);
        }

        private void play(JsonNode action) throws Exception {
            switch (action.get(0).asText()) {
                case "forward":
                    output.collect(new StreamRecord<>(action.get(1).asText()));
                    return;
                case "emit":
                    emit(action.get(1).asText(), action.get(2).asInt());
                    return;
                case "mail":
                    MailOptions options =
                            (MailOptions) MailOptions.class.getMethod(action.get(2).asText()).invoke(null);
                    String name = "mail " + action.get(3).asText();
                    JsonNode mailed = action.get(4);
                    EXECUTORS.get(action.get(1).asInt())
                            .execute(options, () -> playAs(name, mailed), name, new Object[0]);
                    return;
                case "timer":
                    String timer = "timer " + action.get(2).asText();
                    JsonNode actions = action.get(3);
                    DUE.incrementAndGet();
                    getProcessingTimeService()
                            .registerTimer(
                                    getProcessingTimeService().getCurrentProcessingTime() + action.get(1).asLong(),
                                    time -> {
                                        DUE.decrementAndGet();
                                        playAs(timer, actions);
                                    });
                    return;
                case "event_timer":
                    timers.registerEventTimeTimer(VoidNamespace.INSTANCE, action.get(1).asLong());
                    return;
                case "yield":
                    executor.yield();
                    log("yielded");
                    return;
                case "try_yield":
                    log("yielded " + executor.tryYield());
                    return;
                default:
                    throw new IllegalArgumentException(action.toString());
            }
        }

        private void emit(String name, int count) {
            log("emits " + name);
            String outer = round;
            round = count >= BLOCKS ? name : null;
            for (int i = 0; i < count; i++) {
                output.collect(new StreamRecord<>(name + " " + count + " " + FILLER));
            }
            round = outer;
            log("emitted " + name);
        }
    }

    private static final class Sink extends AbstractStreamOperator<String>
            implements OneInputStreamOperator<String, String> {
        private transient String last;

        @Override
        public void processElement(StreamRecord<String> element) throws Exception {
            String[] words = element.getValue().split(" ");
            if (!words[0].equals(last)) {
                last = words[0];
                Log.add("sink", last);
                while (Integer.parseInt(words[1]) >= BLOCKS && !OPENED.contains(last)) {
                    Thread.sleep(1);
                }
            }
        }

        @Override
        public void processWatermark(Watermark watermark) {
            Log.add("sink", "watermark", watermark.getTimestamp());
        }
    }
}
