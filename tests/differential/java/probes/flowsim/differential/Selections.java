package flowsim.differential;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.streaming.api.operators.BoundedMultiInput;
import org.apache.flink.streaming.api.operators.InputSelectable;
import org.apache.flink.streaming.api.operators.InputSelection;
import org.apache.flink.streaming.runtime.io.DataInputStatus;
import org.apache.flink.streaming.runtime.io.FinishedDataOutput;
import org.apache.flink.streaming.runtime.io.MultipleInputSelectionHandler;
import org.apache.flink.streaming.runtime.io.PushingAsyncDataInput;
import org.apache.flink.streaming.runtime.io.StreamMultipleInputProcessor;
import org.apache.flink.streaming.runtime.io.StreamOneInputProcessor;
import org.apache.flink.streaming.runtime.io.StreamTaskInput;

/** A real selection handler and, on another one, a real processor whose inputs answer what they were told to. */
public final class Selections implements InputSelectable, BoundedMultiInput {
    private final MultipleInputSelectionHandler handler;
    private final StreamMultipleInputProcessor processor;
    private final List<Scripted> inputs = new ArrayList<>();
    private final List<Integer> ended = new ArrayList<>();
    private final List<Integer> read = new ArrayList<>();
    private InputSelection selection = InputSelection.ALL;
    private CompletableFuture<?> awaited;
    private int asked;

    public Selections(int count, boolean selects) {
        handler = new MultipleInputSelectionHandler(selects ? this : null, count);
        StreamOneInputProcessor<?>[] processors = new StreamOneInputProcessor<?>[count];
        for (int i = 0; i < count; i++) {
            inputs.add(new Scripted(i));
            processors[i] = new StreamOneInputProcessor<>(inputs.get(i), new FinishedDataOutput<>(), this);
        }
        processor =
                new StreamMultipleInputProcessor(new MultipleInputSelectionHandler(selects ? this : null, count), processors);
    }

    @Override
    public InputSelection nextSelection() {
        asked++;
        return selection;
    }

    @Override
    public void endInput(int inputId) {
        ended.add(inputId);
    }

    /** What the operator selects from now on; -1 for all. */
    public void select(long mask) {
        InputSelection.Builder builder = new InputSelection.Builder();
        if (mask == -1) {
            builder.select(-1);
        } else {
            for (int i = 0; i < 63; i++) {
                if ((mask & 1L << i) != 0) {
                    builder.select(i + 1);
                }
            }
        }
        selection = builder.build();
    }

    public MultipleInputSelectionHandler handler() {
        return handler;
    }

    public String update(String status, int input) throws Exception {
        return handler.updateStatusAndSelection(DataInputStatus.valueOf(status), input).name();
    }

    public void offer(int input, String status) {
        inputs.get(input).offer(DataInputStatus.valueOf(status));
    }

    public String process() throws Exception {
        return processor.processInput().name();
    }

    public boolean isAvailable() {
        return processor.getAvailableFuture().isDone();
    }

    /** Keeps the future; {@link #isAwake} tells whether it has completed since. */
    public boolean await() {
        awaited = processor.getAvailableFuture();
        return awaited.isDone();
    }

    public boolean isAwake() {
        return awaited.isDone();
    }

    public int asked() {
        return asked;
    }

    public List<Integer> ended() {
        return ended;
    }

    public List<Integer> read() {
        return read;
    }

    private final class Scripted implements StreamTaskInput<Object> {
        private final int index;
        private final Deque<DataInputStatus> answers = new ArrayDeque<>();
        private CompletableFuture<?> available = new CompletableFuture<>();

        Scripted(int index) {
            this.index = index;
        }

        void offer(DataInputStatus status) {
            answers.add(status);
            available.complete(null);
        }

        @Override
        public DataInputStatus emitNext(PushingAsyncDataInput.DataOutput<Object> output) {
            read.add(index);
            DataInputStatus answer = answers.isEmpty() ? DataInputStatus.NOTHING_AVAILABLE : answers.poll();
            if (answers.isEmpty() && available.isDone()) {
                available = new CompletableFuture<>();
            }
            return answer;
        }

        @Override
        public CompletableFuture<?> getAvailableFuture() {
            return available;
        }

        @Override
        public int getInputIndex() {
            return index;
        }

        @Override
        public CompletableFuture<Void> prepareSnapshot(ChannelStateWriter writer, long checkpointId) {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void close() {}
    }
}
