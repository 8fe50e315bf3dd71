// Reads the guard's reply as JetCache does with valueEncoder java: four bytes that name the decoder, then a serialised
// CacheValueHolder. JetCache is not in Debian; the class below has the name, the serialVersionUID and the fields of the real one
// (com.alicp.jetcache.CacheValueHolder), which is all that Java's serialisation goes by.
//
//   java ReadHolder.java HEX
//
// Prints one line, times in milliseconds since 1970: decoder=4a953a80 value_is_null=1 accessed_at=N expires_at=N
package com.alicp.jetcache;

import java.io.ByteArrayInputStream;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.util.HexFormat;

public class ReadHolder {
    private static final int HEADER_BYTES = 4;

    public static void main(String[] arguments) throws Exception {
        byte[] reply = HexFormat.of().parseHex(arguments[0]);
        ObjectInputStream stream =
            new ObjectInputStream(new ByteArrayInputStream(reply, HEADER_BYTES, reply.length - HEADER_BYTES));
        CacheValueHolder<?> holder = (CacheValueHolder<?>) stream.readObject();
        System.out.printf("decoder=%s value_is_null=%d accessed_at=%d expires_at=%d%n",
            HexFormat.of().formatHex(reply, 0, HEADER_BYTES), holder.value == null ? 1 : 0, holder.accessTime, holder.expireTime);
    }
}

final class CacheValueHolder<V> implements Serializable {
    private static final long serialVersionUID = -7973743507831565203L;

    V value;
    long expireTime;
    long accessTime;
}
