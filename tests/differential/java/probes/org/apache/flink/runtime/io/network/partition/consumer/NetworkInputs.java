package org.apache.flink.runtime.io.network.partition.consumer;

import flowsim.differential.ArrivingMailbox;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.common.operators.MailboxExecutor.MailOptions;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.event.WatermarkEvent;
import org.apache.flink.runtime.io.disk.iomanager.IOManager;
import org.apache.flink.runtime.io.disk.iomanager.IOManagerAsync;
import org.apache.flink.runtime.io.network.api.serialization.EventSerializer;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.jobgraph.tasks.CheckpointableTask;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.io.DataInputStatus;
import org.apache.flink.streaming.runtime.io.PushingAsyncDataInput;
import org.apache.flink.streaming.runtime.io.StreamOneInputProcessor;
import org.apache.flink.streaming.runtime.io.StreamTaskNetworkInput;
import org.apache.flink.streaming.runtime.io.checkpointing.CheckpointBarrierTracker;
import org.apache.flink.streaming.runtime.io.checkpointing.CheckpointedInputGate;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamElement;
import org.apache.flink.streaming.runtime.streamrecord.StreamElementSerializer;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.StreamTaskActionExecutor;
import org.apache.flink.streaming.runtime.tasks.mailbox.Mail;
import org.apache.flink.streaming.runtime.tasks.mailbox.MailboxDefaultAction;
import org.apache.flink.streaming.runtime.tasks.mailbox.MailboxProcessor;
import org.apache.flink.streaming.runtime.watermarkstatus.StatusWatermarkValve;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.util.clock.SystemClock;

/**
 * A real StreamTaskNetworkInput under its processor and a real mailbox; elements and mails play scripts of the test.
 *
 * <p>A script is a list of actions, one a line: mail PRIORITY OPTIONS NAME, yield PRIORITY, try PRIORITY, output on or off,
 * data CHANNEL CUT ELEMENT..., event CHANNEL NAME. An element is r/NUMBER/PADDING/TIMESTAMP (- for none), w/TIMESTAMP,
 * idle, active or m/TIME. CUT is how many thousandths of the last element stay behind for the next buffer, 0 for none; a
 * long record may be cut again, without new elements.
 */
public final class NetworkInputs extends RemoteGates {
    private static final int SEGMENT = 16_384;
    private static final int LONG = 200;
    private static final int MOST_CUTS = 3;
    private static final IOManager SPILLING = new IOManagerAsync();

    private final List<String> log = new ArrayList<>();
    private final Map<String, String[]> scripts = new HashMap<>();
    private final Deque<String[]> arrivals = new ArrayDeque<>();
    private final byte[][] left;
    private final int[] cuts;
    private final int[] numbers;
    private final boolean[] endedData;
    private final boolean[] ended;
    private final StreamElementSerializer<String> serializer =
            new StreamElementSerializer<>(StringSerializer.INSTANCE);
    private final MailboxProcessor mailboxProcessor =
            new MailboxProcessor(
                    this::processInput, new Mailbox(), StreamTaskActionExecutor.IMMEDIATE);
    private final StreamOneInputProcessor<String> inputProcessor;
    private final boolean emitsBatches;
    private int yields;
    private CompletableFuture<Void> output = CompletableFuture.completedFuture(null);

    public NetworkInputs(int channels, int exclusive, boolean emitsBatches) throws Exception {
        super(1, channels, exclusive, 1, channels * exclusive + 1, SEGMENT);
        this.emitsBatches = emitsBatches;
        left = new byte[channels][0];
        cuts = new int[channels];
        numbers = new int[channels];
        endedData = new boolean[channels];
        ended = new boolean[channels];
        CheckpointedInputGate gate =
                new CheckpointedInputGate(
                        input,
                        new CheckpointBarrierTracker(channels, withoutCheckpoints(), SystemClock.getInstance(), true),
                        mailboxProcessor.getMainMailboxExecutor());
        StreamTaskNetworkInput<String> networkInput =
                new StreamTaskNetworkInput<>(
                        gate,
                        StringSerializer.INSTANCE,
                        SPILLING,
                        new StatusWatermarkValve(gate),
                        0,
                        // StreamTask.getCanEmitBatchOfRecords, and the one of a task with several inputs.
                        () -> emitsBatches && !mailboxProcessor.hasMail() && output.isDone());
        inputProcessor =
                new StreamOneInputProcessor<>(networkInput, new Output(), index -> log.add("end of input " + index));
    }

    private static CheckpointableTask withoutCheckpoints() {
        return (CheckpointableTask)
                Proxy.newProxyInstance(
                        NetworkInputs.class.getClassLoader(),
                        new Class<?>[] {CheckpointableTask.class},
                        (proxy, method, arguments) -> {
                            throw new UnsupportedOperationException(method.getName());
                        });
    }

    /** Without arrivals the loop waits until it is suspended, and a yield until a mail comes that does nothing. */
    private final class Mailbox extends ArrivingMailbox {
        Mailbox() {
            super(NetworkInputs.this::arrive);
        }

        @Override
        public Mail take(int priority) throws InterruptedException {
            if (arrivals.isEmpty() && !hasMailOf(priority)) {
                nothingArrives();
            }
            return super.take(priority);
        }
    }

    private void nothingArrives() {
        if (yields > 0) {
            perform(new String[] {"mail 9 options awaited"});
        } else {
            mailboxProcessor.suspend();
        }
    }

    private void arrive() {
        String[] burst = arrivals.poll();
        if (burst == null) {
            nothingArrives();
        } else {
            log.add("arrival");
            perform(burst);
        }
    }

    /** What the element, mail or watermark of this name does. */
    public void script(String name, String actions) {
        scripts.put(name, actions.split("\n"));
    }

    /** What neighbours do the next time the mailbox thread waits. */
    public void arrival(String actions) {
        arrivals.add(actions.split("\n"));
    }

    /** The mailbox loop, until it would wait and no arrival is left; the log since the last time, then what can be seen. */
    public String loop(String actions) throws Exception {
        if (!actions.isEmpty()) {
            Thread neighbour = new Thread(() -> perform(actions.split("\n")));
            neighbour.start();
            neighbour.join();
        }
        mailboxProcessor.runMailboxLoop();
        log.add(inputProcessor.isAvailable() ? "available" : "waiting");
        log.add(mailboxProcessor.hasMail() + " " + mailboxProcessor.isDefaultActionAvailable());
        String seen = String.join("\n", log);
        log.clear();
        return seen;
    }

    /** As StreamTask.processInput. */
    private void processInput(MailboxDefaultAction.Controller controller) throws Exception {
        DataInputStatus status = inputProcessor.processInput();
        // A batch may end early on the other side, where it is also limited by time.
        if (status != DataInputStatus.MORE_AVAILABLE || !emitsBatches) {
            log.add(status.name());
        }
        switch (status) {
            case MORE_AVAILABLE:
                if (output.isDone()) {
                    return;
                }
                break;
            case NOTHING_AVAILABLE:
                break;
            case STOPPED:
            case END_OF_DATA:
                return;
            default:
                controller.suspendDefaultAction();
                mailboxProcessor.suspend();
                return;
        }
        CompletableFuture<?> resume;
        if (!output.isDone()) {
            resume = output;
        } else if (!inputProcessor.isAvailable()) {
            resume = inputProcessor.getAvailableFuture();
        } else {
            return;
        }
        MailboxDefaultAction.Suspension suspension = controller.suspendDefaultAction();
        resume.thenRun(suspension::resume);
    }

    private final class Output implements PushingAsyncDataInput.DataOutput<String> {
        @Override
        public void emitRecord(StreamRecord<String> record) {
            String value = record.getValue();
            String number = value.substring(0, value.indexOf(' '));
            play("record " + number, record.hasTimestamp() ? " at " + record.getTimestamp() : "");
        }

        @Override
        public void emitWatermark(Watermark watermark) {
            play("watermark " + watermark.getTimestamp(), "");
        }

        @Override
        public void emitWatermarkStatus(WatermarkStatus status) {
            play("status " + (status.isIdle() ? "IDLE" : "ACTIVE"), "");
        }

        @Override
        public void emitLatencyMarker(LatencyMarker marker) {
            play("marker " + marker.getMarkedTime(), "");
        }

        @Override
        public void emitRecordAttributes(RecordAttributes attributes) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void emitWatermark(WatermarkEvent watermark) {
            throw new UnsupportedOperationException();
        }
    }

    private void play(String name, String more) {
        log.add(name + more);
        String[] actions = scripts.get(name);
        if (actions != null) {
            perform(actions);
        }
    }

    private void perform(String[] actions) {
        try {
            for (String action : actions) {
                performOne(action.split(" "));
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private void performOne(String[] words) throws Exception {
        switch (words[0]) {
            case "mail":
                put(Integer.parseInt(words[1]), words[2], words[3]);
                break;
            case "yield":
                yields++;
                mailboxProcessor.getMailboxExecutor(Integer.parseInt(words[1])).yield();
                yields--;
                break;
            case "try":
                log.add("tried " + mailboxProcessor.getMailboxExecutor(Integer.parseInt(words[1])).tryYield());
                break;
            case "output":
                if (words[1].equals("on")) {
                    output.complete(null);
                } else if (output.isDone()) {
                    output = new CompletableFuture<>();
                }
                break;
            case "data":
                data(Integer.parseInt(words[1]), Integer.parseInt(words[2]), Arrays.copyOfRange(words, 3, words.length));
                break;
            default:
                event(Integer.parseInt(words[1]), words[2].replace('_', ' '));
        }
    }

    private void put(int priority, String options, String name) throws Exception {
        MailOptions chosen = (MailOptions) MailOptions.class.getMethod(options).invoke(null);
        mailboxProcessor.getMailboxExecutor(priority).execute(chosen, () -> play(name, ""), name, new Object[0]);
    }

    private void data(int index, int cut, String[] elements) throws Exception {
        RemoteInputChannel channel = at(0, index);
        if (ended[index] || elements.length == 0 && left[index].length == 0) {
            return;
        }
        BufferManager buffers = channel.getBufferManager();
        if (buffers.unsynchronizedGetAvailableExclusiveBuffers() + buffers.unsynchronizedGetFloatingBuffersAvailable() == 0) {
            log.add("no buffer");
            return;
        }
        DataOutputSerializer out = new DataOutputSerializer(SEGMENT);
        out.write(left[index]);
        int begin = 0;
        for (String element : elements) {
            begin = out.length();
            out.writeInt(0);
            serializer.serialize(element(element.split("/")), out);
            out.writeIntUnsafe(out.length() - begin - 4, begin);
            cuts[index] = element.startsWith("r/") && Integer.parseInt(element.split("/")[2]) >= LONG ? MOST_CUTS : 1;
        }
        int thousandths = cuts[index] == 0 ? 0 : cut;
        cuts[index] = thousandths == 0 ? 0 : cuts[index] - 1;
        byte[] all = out.getCopyOfBuffer();
        int end = begin + Math.max(1, (all.length - begin) * (1000 - thousandths) / 1000);
        left[index] = Arrays.copyOfRange(all, end, all.length);
        Buffer buffer = channel.requestBuffer();
        buffer.getMemorySegment().put(0, all, 0, end);
        buffer.setSize(end);
        channel.onBuffer(buffer, numbers[index]++, 0, 0);
    }

    private static StreamElement element(String[] words) {
        switch (words[0]) {
            case "r":
                String value = words[1] + " " + "x".repeat(Integer.parseInt(words[2]));
                return words[3].equals("-") ? new StreamRecord<>(value) : new StreamRecord<>(value, Long.parseLong(words[3]));
            case "w":
                return new Watermark(Long.parseLong(words[1]));
            case "m":
                return new LatencyMarker(Long.parseLong(words[1]), new OperatorID(), 0);
            default:
                return words[0].equals("idle") ? WatermarkStatus.IDLE : WatermarkStatus.ACTIVE;
        }
    }

    private void event(int index, String name) throws IOException {
        boolean[] before = name.equals("end") ? ended : endedData;
        if (!ended[index] && !before[index]) {
            before[index] = true;
            at(0, index).onBuffer(EventSerializer.toBuffer(Events.event(name, 0), false), numbers[index]++, 0, 0);
        }
    }

    /** A buffer that is recycled gives its channel a credit, which is announced at once. */
    @Override
    void sent(String what, RemoteInputChannel channel) {
        int credits = what.equals("credit") ? channel.getAndResetUnannouncedCredit() : 0;
        if (log != null) {
            log.add(what + " " + channel.getChannelInfo().getInputChannelIdx() + (credits > 0 ? " " + credits : ""));
        }
    }
}
