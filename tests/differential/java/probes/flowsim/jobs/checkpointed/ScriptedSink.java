package flowsim.jobs.checkpointed;

import flowsim.jobs.Log;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.CommittingSinkWriter;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** One committable per writer and checkpoint: {@code [subtask, values]}; the committer logs every call. */
final class ScriptedSink implements Sink<String>, SupportsCommitter<String> {
    private final boolean retries;

    ScriptedSink(boolean retries) {
        this.retries = retries;
    }

    @Override
    public CommittingSinkWriter<String, String> createWriter(WriterInitContext context) {
        return new Writer(context.getTaskInfo().getIndexOfThisSubtask());
    }

    @Override
    public Committer<String> createCommitter(CommitterInitContext context) {
        String place = Board.attempt(context.getTaskInfo()) + "/" + context.getTaskInfo().getIndexOfThisSubtask();
        return new Commits(place, retries);
    }

    @Override
    public SimpleVersionedSerializer<String> getCommittableSerializer() {
        return new Texts();
    }

    private static final class Writer implements CommittingSinkWriter<String, String> {
        private final int subtask;
        private List<Object> values = new ArrayList<>();

        Writer(int subtask) {
            this.subtask = subtask;
        }

        @Override
        public void write(String text, Context context) {
            values.add(Board.parsed(text));
        }

        @Override
        public void flush(boolean endOfInput) {}

        @Override
        public Collection<String> prepareCommit() {
            if (values.isEmpty()) {
                return Collections.emptyList();
            }
            String committable = Board.text(subtask, values);
            values = new ArrayList<>();
            return Collections.singletonList(committable);
        }

        @Override
        public void close() {}
    }

    private static final class Commits implements Committer<String> {
        private final String place;
        private final boolean retries;

        Commits(String place, boolean retries) {
            this.place = place;
            this.retries = retries;
        }

        @Override
        public void commit(Collection<CommitRequest<String>> requests) {
            for (CommitRequest<String> request : requests) {
                String committable = request.getCommittable();
                boolean isLater = retries && Board.fires("commit" + committable);
                Log.add(
                        "commits",
                        Board.text(place, Board.parsed(committable), isLater ? "retryLater" : "committed"));
                if (isLater) {
                    request.retryLater();
                }
            }
        }

        @Override
        public void close() {}
    }

    private static final class Texts implements SimpleVersionedSerializer<String> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(String text) {
            return text.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String deserialize(int version, byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }
}
