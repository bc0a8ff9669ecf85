package flowsim.differential;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.BooleanSerializer;
import org.apache.flink.api.common.typeutils.base.ByteSerializer;
import org.apache.flink.api.common.typeutils.base.CharSerializer;
import org.apache.flink.api.common.typeutils.base.DoubleSerializer;
import org.apache.flink.api.common.typeutils.base.FloatSerializer;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.ShortSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.api.java.typeutils.runtime.RowSerializer;
import org.apache.flink.api.java.typeutils.runtime.TupleSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.operators.sort.IndexedSortable;
import org.apache.flink.runtime.operators.sort.QuickSort;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** The bytes of serialized keys, and the order in which Flink sorts records in memory. */
public final class SortedKeys {
    private SortedKeys() {}

    /** The bytes of each key, as signed numbers. */
    public static String serialized(String keys) throws IOException {
        List<List<Integer>> found = new ArrayList<>();
        for (JsonNode node : Keys.JSON.readTree(keys)) {
            DataOutputSerializer output = new DataOutputSerializer(64);
            serializer(node).serialize(Keys.of(node), output);
            List<Integer> bytes = new ArrayList<>();
            for (byte each : output.getCopyOfBuffer()) {
                bytes.add((int) each);
            }
            found.add(bytes);
        }
        return Keys.JSON.writeValueAsString(found);
    }

    /** The positions of numbers in the order of Flink's sort. */
    public static String sorted(String numbers) throws IOException {
        Numbers sortable = new Numbers(Keys.JSON.readValue(numbers, int[].class));
        new QuickSort().sort(sortable);
        return Keys.JSON.writeValueAsString(sortable.order);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static TypeSerializer<Object> serializer(JsonNode node) {
        return (TypeSerializer) typed(node);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static TypeSerializer<?> typed(JsonNode node) {
        switch (node.get(0).asText()) {
            case "STRING":
                return StringSerializer.INSTANCE;
            case "BYTE":
                return ByteSerializer.INSTANCE;
            case "SHORT":
                return ShortSerializer.INSTANCE;
            case "INT":
                return IntSerializer.INSTANCE;
            case "LONG":
                return LongSerializer.INSTANCE;
            case "BOOLEAN":
                return BooleanSerializer.INSTANCE;
            case "CHAR":
                return CharSerializer.INSTANCE;
            case "FLOAT":
                return FloatSerializer.INSTANCE;
            case "DOUBLE":
                return DoubleSerializer.INSTANCE;
            default:
                TypeSerializer<Object>[] fields = new TypeSerializer[node.size() - 1];
                for (int i = 0; i < fields.length; i++) {
                    fields[i] = serializer(node.get(i + 1));
                }
                return node.get(0).asText().equals("ROW")
                        ? new RowSerializer(fields)
                        : new TupleSerializer(Tuple.getTupleClass(fields.length), fields);
        }
    }

    /** Numbers that remember their positions; only swaps move them. */
    private static final class Numbers implements IndexedSortable {
        private final int[] numbers;
        private final int[] order;

        Numbers(int[] numbers) {
            this.numbers = numbers;
            this.order = new int[numbers.length];
            for (int i = 0; i < order.length; i++) {
                order[i] = i;
            }
        }

        @Override
        public int compare(int i, int j) {
            return Integer.compare(numbers[i], numbers[j]);
        }

        @Override
        public int compare(int pageI, int offsetI, int pageJ, int offsetJ) {
            return compare(pageI * recordsPerSegment() + offsetI, pageJ * recordsPerSegment() + offsetJ);
        }

        @Override
        public void swap(int i, int j) {
            int number = numbers[i];
            numbers[i] = numbers[j];
            numbers[j] = number;
            int position = order[i];
            order[i] = order[j];
            order[j] = position;
        }

        @Override
        public void swap(int pageI, int offsetI, int pageJ, int offsetJ) {
            swap(pageI * recordsPerSegment() + offsetI, pageJ * recordsPerSegment() + offsetJ);
        }

        @Override
        public int size() {
            return numbers.length;
        }

        @Override
        public int recordSize() {
            return 1;
        }

        @Override
        public int recordsPerSegment() {
            return 16;
        }
    }
}
