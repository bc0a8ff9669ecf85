package flowsim.conform;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.CommittingSinkWriter;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.streaming.api.connector.sink2.CommittableMessage;
import org.apache.flink.streaming.api.connector.sink2.CommittableMessageTypeInfo;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.runtime.operators.sink.CommitterOperatorFactory;
import org.apache.flink.streaming.runtime.operators.sink.SinkWriterOperatorFactory;

/** A sink that writes nothing; its committer notes the numbers of the records of each commit. */
final class Sinks implements Sink<Long>, SupportsCommitter<String> {
    private final int node;

    private Sinks(int node) {
        this.node = node;
    }

    /** The operator of the writers. */
    static SingleOutputStreamOperator<CommittableMessage<String>> writer(DataStream<Long> stream, int node) {
        Sinks sink = new Sinks(node);
        return stream.transform(
                "writer",
                CommittableMessageTypeInfo.of(sink::getCommittableSerializer),
                new SinkWriterOperatorFactory<Long, String>(sink));
    }

    /** The operator of the committers, behind that of the writers. */
    static SingleOutputStreamOperator<CommittableMessage<String>> committer(
            DataStream<CommittableMessage<String>> stream, int node, boolean isCheckpointingEnabled) {
        Sinks sink = new Sinks(node);
        return stream.transform(
                "committer",
                CommittableMessageTypeInfo.of(sink::getCommittableSerializer),
                new CommitterOperatorFactory<>(sink, false, isCheckpointingEnabled));
    }

    @Override
    public CommittingSinkWriter<Long, String> createWriter(WriterInitContext context) {
        return new Writer();
    }

    @Override
    public Committer<String> createCommitter(CommitterInitContext context) {
        return new Commits("commits/" + node);
    }

    @Override
    public SimpleVersionedSerializer<String> getCommittableSerializer() {
        return new PlayedSource.Texts<String>() {
            @Override
            public String of(String text) {
                return text;
            }
        };
    }

    private static final class Writer implements CommittingSinkWriter<Long, String> {
        private List<Long> values = new ArrayList<>();

        @Override
        public void write(Long value, Context context) {
            values.add(value);
        }

        @Override
        public void flush(boolean endOfInput) {}

        @Override
        public Collection<String> prepareCommit() {
            List<String> committables = values.isEmpty() ? List.of() : List.of(Bridge.text(values));
            values = new ArrayList<>();
            return committables;
        }

        @Override
        public void close() {}
    }

    private static final class Commits implements Committer<String> {
        private final String place;

        Commits(String place) {
            this.place = place;
        }

        @Override
        public void commit(Collection<CommitRequest<String>> requests) {
            for (CommitRequest<String> request : requests) {
                Seen.note(place, request.getCommittable());
            }
        }

        @Override
        public void close() {}
    }
}
